// Gradients that torch_npu forms in its own way, because PyTorch's formula needs what an NPU lacks.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <string>

namespace npu_sim {

// Whether register_gradients brings the gradient of the operator.
bool has_own_gradient(const std::string& name);

// The loss with logits: PyTorch's formula rounds a half gradient between its parts, torch_npu's is one kernel. It has none
// for the target, whose gradient silently stays away on a real NPU; here that is an error.
class LossWithLogits final : public c10::OperatorKernel {
 public:
  explicit LossWithLogits(const c10::OperatorHandle& op);
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  c10::SafeKernelFunction torch_npu_;
};

void register_gradients(torch::Library& autograd);

}  // namespace npu_sim
