// Kernels that are registered one by one; each function has a source of its name.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "torch_api.h"


namespace npu_sim {

// Copies within, to and from the simulated device. They run at once on the caller's thread and never enter torch_npu's
// task queue (whose casting and strided copies would need a device kernel).
void register_copies(torch::Library& aten);
// Random operators whose schema has no generator to pass.
void register_random(torch::Library& aten);
// Recurrent cells that PyTorch has for accelerators only, made of simulated operators.
void register_recurrent(torch::Library& aten, torch::Library& autograd);
// Sparse COO tensors: torch_npu holds them itself; what it computes through CANN is computed on the host here.
void register_sparse(torch::Library& aten);
// Gradients that torch_npu forms in its own way, because PyTorch's formula needs what an NPU lacks: that of renorm.
void register_gradients(torch::Library& autograd);
// torch_npu's own operators that ordinary training reaches: format casts, dtype casts, float status.
void register_npu_operators(torch::Library& npu);

// The loss with logits: PyTorch's formula rounds a half gradient between its parts, torch_npu's is one kernel. It has none
// for the target, whose gradient silently stays away on a real NPU; here that is an error.
class LossWithLogits final : public c10::OperatorKernel {
 public:
  explicit LossWithLogits(const c10::OperatorHandle& op);
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  KeptKernel torch_npu_;
};

// A CPU generator for one call, seeded by the NPU generator's seed and offset; moves that offset on.
at::Generator generator_for_call(const optional<at::Generator>& npu_generator, c10::Device device);

}  // namespace npu_sim
