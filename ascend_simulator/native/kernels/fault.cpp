#include "faults.h"

#include <ATen/ops/empty.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/record_function.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace npu_sim {
namespace {

std::atomic<int64_t> ended_steps{0};
constexpr const char* kOptimizerStep = "Optimizer.step#";

void on_end(const at::RecordFunction& function, at::ObserverContext*) {
  if (std::strncmp(function.name(), kOptimizerStep, std::strlen(kOptimizerStep)) == 0) {
    ended_steps += 1;
  }
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction&) { return nullptr; }

int64_t rank() {
  const char* told = std::getenv("RANK");  // read at each call: a script that starts its ranks itself may set it late
  return told == nullptr ? 0 : std::atoll(told);
}

void set_first(const at::Tensor& tensor, double value) { tensor.flatten().slice(0, 0, 1).fill_(value); }

void set_first_of(at::Tensor tensor, double value) {
  if (tensor.is_contiguous()) {
    return set_first(tensor, value);
  }
  auto copy = tensor.contiguous();
  set_first(copy, value);
  tensor.copy_(copy);
}

}  // namespace

void count_training_steps() {
  // USER_SCOPE is record_function's own: operators are not slowed down
  at::addGlobalCallback(at::RecordFunctionCallback(&on_start, &on_end).scopes({at::RecordScope::USER_SCOPE}));
}

bool Fault::names(const std::string& base, const std::string& overload) const {
  const std::string full = base + "." + overload;
  return std::any_of(operators.begin(), operators.end(), [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), base.c_str(), 0) == 0 || fnmatch(pattern.c_str(), full.c_str(), 0) == 0;
  });
}

bool Fault::due() {
  std::lock_guard<std::mutex> lock(mutex_);
  const int64_t step = steps ? ended_steps + 1 : 1;
  within_step_ = step == step_ ? within_step_ + 1 : 1;
  step_ = step;
  total_ += 1;
  return calls.holds(within_step_) && (!steps || steps->holds(step)) && (!ranks || ranks->holds(rank()));
}

bool Fault::disturb(const std::string& op) {
  if (kind == "delay") {
    struck_ += 1;
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(value));
    return true;
  }
  if (kind == "error") {
    struck_ += 1;
    TORCH_CHECK(false, op, ": NPU function error: AclrtSynchronizeStreamWithTimeout, error code is 507015",
                "\n[ERROR] ERR00100 PTA call acl api failed.\n[Error]: The aicore execution is abnormal.",
                "\n[simulated NPU] fault on purpose: ", text,
                " (a real NPU says so at the next synchronisation, or at once with ASCEND_LAUNCH_BLOCKING=1)");
  }
  return false;
}

// Only what changed a tensor counts as struck.
void Fault::change(at::Tensor tensor) {
  struck_ += 1;
  if (kind == "scale") {
    tensor.mul_(value);
  } else if (kind == "add") {
    tensor.add_(value);
  } else if (kind == "zero") {
    tensor.zero_();
  } else if (kind == "nan" || kind == "inf") {
    set_first_of(tensor, kind == "nan" ? std::numeric_limits<double>::quiet_NaN()
                                       : std::numeric_limits<double>::infinity());
  } else if (kind == "dtype") {
    tensor.copy_(tensor.to(*dtype).to(tensor.scalar_type()));
  } else {
    auto normal = at::empty(tensor.sizes(), tensor.options().memory_format(at::MemoryFormat::Contiguous));
    normal.normal_(1.0, value, at::detail::createCPUGenerator(static_cast<uint64_t>(total_)));
    tensor.mul_(normal);
  }
}

}  // namespace npu_sim
