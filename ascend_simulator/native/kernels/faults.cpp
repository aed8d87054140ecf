#include "faults.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tensors.h"

namespace npu_sim {
namespace {

constexpr const char* kFaultVariable = "ASCEND_WORKBOOK_SIM_FAULT";

auto& all_faults = *new std::vector<std::shared_ptr<Fault>>;  // leaked: read at exit

void report_faults_at_exit() {
  for (const auto& fault : all_faults) {
    if (fault->struck() == 0) {
      std::fprintf(stderr, "NPU simulator: the fault %s never struck: %lld calls of it in this process\n",
                   fault->text.c_str(), static_cast<long long>(fault->counted()));
    }
  }
}

bool has_own_result(const c10::OperatorHandle& op) {
  const auto& returns = op.schema().returns();
  const auto view = [](const c10::Argument& result) {
    return result.alias_info() != nullptr && !result.alias_info()->isWrite();
  };
  return !returns.empty() && std::none_of(returns.begin(), returns.end(), view);
}

bool is_backward(const std::string& name) { return name.find("backward") != std::string::npos; }

std::vector<at::Tensor> results_of(const torch::jit::Stack& stack, size_t count) {
  std::vector<at::Tensor> results;
  for (size_t i = stack.size() - count; i < stack.size(); ++i) {
    any_tensor(stack[i], [&results](const at::Tensor& tensor) {
      results.push_back(tensor);
      return false;
    });
  }
  return results;
}

}  // namespace

void read_faults() {
  const char* faults = std::getenv(kFaultVariable);
  all_faults = read_fault_text(faults == nullptr ? "" : faults);
  const auto by_step = [](const auto& fault) { return fault->steps.has_value(); };
  if (std::any_of(all_faults.begin(), all_faults.end(), by_step)) {
    count_training_steps();
  }
}

std::vector<std::shared_ptr<Fault>> faults_of(const c10::OperatorHandle& op) {
  std::vector<std::shared_ptr<Fault>> found;
  if (!has_own_result(op)) {
    return found;
  }
  const auto& name = op.operator_name();
  const std::string base = name.name.rfind("aten::", 0) == 0 ? name.name.substr(6) : name.name;
  for (const auto& fault : all_faults) {
    if (fault->names(base, name.overload_name)) {
      fault->placed = true;
      found.push_back(fault);
    }
  }
  return found;
}

void announce_faults() {
  for (const auto& fault : all_faults) {
    TORCH_CHECK_VALUE(fault->placed, kFaultVariable, ": \"", fault->text,
                      "\" names no operator that runs on the simulated NPU and returns tensors");
    std::fprintf(stderr, "NPU simulator: fault on purpose: %s\n", fault->text.c_str());
  }
  if (!all_faults.empty()) {
    std::atexit(report_faults_at_exit);
  }
}

void apply_faults(const std::vector<std::shared_ptr<Fault>>& faults, const std::string& op, torch::jit::Stack* stack,
                  size_t count) {
  for (const auto& fault : faults) {
    if (!fault->due() || fault->disturb(op)) {
      continue;
    }
    bool changed = false;
    for (const auto& tensor : results_of(*stack, count)) {
      if (tensor.is_floating_point() && (is_backward(op) || !changed)) {
        fault->change(tensor);
        changed = true;
      }
    }
  }
}

}  // namespace npu_sim

// The faults in force, a line each: as it was written, how often its operators were called, how often it struck.
extern "C" __attribute__((visibility("default"))) const char* npu_sim_faults() {
  thread_local std::string lines;
  lines.clear();
  for (const auto& fault : npu_sim::all_faults) {
    lines += fault->text + "\t" + std::to_string(fault->counted()) + "\t" + std::to_string(fault->struck()) + "\n";
  }
  return lines.c_str();
}
