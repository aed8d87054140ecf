#include "training_steps.h"

#include <ATen/record_function.h>

#include <atomic>
#include <cstring>

namespace npu_sim {
namespace {

std::atomic<int64_t> steps{0};
constexpr const char* kOptimizerStep = "Optimizer.step#";

void on_end(const at::RecordFunction& function, at::ObserverContext*) {
  if (std::strncmp(function.name(), kOptimizerStep, std::strlen(kOptimizerStep)) == 0) {
    steps += 1;
  }
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction&) { return nullptr; }

}  // namespace

void count_training_steps() {
  // USER_SCOPE is record_function's own: operators are not slowed down
  at::addGlobalCallback(at::RecordFunctionCallback(&on_start, &on_end).scopes({at::RecordScope::USER_SCOPE}));
}

int64_t training_step() { return steps + 1; }

}  // namespace npu_sim
