// Softmax of half tensors with a float32 result, which PyTorch's CPU kernels lack and an NPU has.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace npu_sim {

// Whether the operator is a softmax, forward or backward, that may mix half precision and float32.
bool mixes_softmax(const c10::OperatorHandle& op);

// Brings the call's arguments to the types that the CPU's kernel takes; returns the type that its result is to have,
// nothing where the kernel's own is right.
std::optional<at::ScalarType> even_softmax(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace npu_sim
