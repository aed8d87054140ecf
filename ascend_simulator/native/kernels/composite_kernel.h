// Composite operators that torch_npu replaces by fused ones (matmul, softmax, scaled_dot_product_attention, ...):
// PyTorch's own kernel runs instead, and brings the call back to operators that are simulated.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "call_limits.h"
#include "dtype_limits.h"
#include "torch_api.h"

namespace npu_sim {

// Runs what PyTorch itself would run at the autograd key of a backend without kernels of its own:
// the composite kernel, or the generated autograd formula.
class StockAutogradKernel final : public c10::OperatorKernel {
 public:
  explicit StockAutogradKernel(const c10::OperatorHandle& op);
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  void check_hardware(const c10::OperatorHandle& op, const torch::jit::Stack& stack) const;

  KeptKernel stock_;
  std::shared_ptr<const DtypeLimits> limits_;  // nullptr: not known, or judged operator by operator below
  CallCheck call_check_;                       // nullptr: the same
};

}  // namespace npu_sim
