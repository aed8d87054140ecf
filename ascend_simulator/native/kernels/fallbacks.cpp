#include "fallbacks.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

namespace npu_sim {
namespace {

using c10::DispatchKey;

std::mutex calls_mutex;
auto& all_calls = *new std::map<std::string, std::atomic<int64_t>>;  // leaked: read at exit

void report_at_exit() {
  for (const auto& [name, calls] : all_calls) {
    if (calls > 0) {
      std::fprintf(stderr, "NPU simulator: CPU fallback: %s: %lld calls\n", name.c_str(),
                   static_cast<long long>(calls));
    }
  }
}

std::atomic<int64_t>* calls_of(const std::string& name) {
  std::lock_guard<std::mutex> lock(calls_mutex);
  if (all_calls.empty()) {
    std::atexit(report_at_exit);
  }
  return &all_calls[name];
}

}  // namespace

bool falls_back(const c10::OperatorHandle& op) {
  for (const auto key : {DispatchKey::PrivateUse1, DispatchKey::AutogradPrivateUse1,
                         DispatchKey::CompositeImplicitAutograd, DispatchKey::CompositeExplicitAutograd,
                         DispatchKey::CompositeExplicitAutogradNonFunctional}) {
    if (op.hasKernelForDispatchKey(key)) {
      return false;
    }
  }
  return op.hasKernelForDispatchKey(DispatchKey::CPU);
}

FallbackKernel::FallbackKernel(const c10::OperatorHandle& op)
    : torch_npus_(kernel_of(op, DispatchKey::PrivateUse1)),
      calls_(calls_of(c10::toString(op.operator_name()))) {}

void FallbackKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  *calls_ += 1;
  torch_npus_.callBoxed(op, keys, stack);
}

}  // namespace npu_sim

// The operators that fell back to the CPU in this process, a line each: its name, a tab, how many calls.
extern "C" __attribute__((visibility("default"))) const char* npu_sim_fallbacks() {
  thread_local std::string lines;
  lines.clear();
  for (const auto& [name, calls] : npu_sim::all_calls) {
    if (calls > 0) {
      lines += name + "\t" + std::to_string(calls) + "\n";
    }
  }
  return lines.c_str();
}
