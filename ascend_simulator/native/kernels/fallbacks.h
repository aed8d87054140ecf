// Operators for which torch_npu has no kernel: its own fallback runs them on the CPU; here each call is counted first.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <atomic>
#include <string>

#include "torch_api.h"

namespace npu_sim {

// Whether torch_npu's boxed fallback is what the NPU has for this operator. Asked before anything is registered here.
bool falls_back(const c10::OperatorHandle& op);

// Counts the call, then runs what stood at the NPU's key: torch_npu's fallback, warning and all.
class FallbackKernel final : public c10::OperatorKernel {
 public:
  explicit FallbackKernel(const c10::OperatorHandle& op);
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  KeptKernel torch_npus_;
  std::atomic<int64_t>* calls_;
};

}  // namespace npu_sim
