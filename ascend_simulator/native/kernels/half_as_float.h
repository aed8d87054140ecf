// float16 and bfloat16 as an NPU computes them: in float32, rounded once at the end. PyTorch's CPU kernels do so too,
// save for these, which are run in float32 here: those that lack half precision; those made of several kernels, which
// would round between them; x + alpha * y and its like, of which the CPU rounds alpha * y where its vectors end; and
// products and convolutions, whose sums a CPU may round in between, and differently on
// different CPUs, where the NPU's accumulator L0C is float32 (https://www.hiascend.com/document: Ascend C API, Mmad).
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "torch_api.h"


namespace npu_sim {

// The half-precision type of the call's tensors. Nothing where another floating-point type stands beside it in an
// operator that does not mix them: that is the CPU kernel's to refuse.
optional<at::ScalarType> half_type(const torch::jit::Stack& stack, size_t first, bool mixes);

// Whether the operator takes a half input, its first argument, beside float32 parameters: batch and layer
// normalisation.
bool mixes_half(const c10::OperatorHandle& op);

// Whether the operator's CPU road rounds between its parts.
bool rounds_between(const c10::OperatorHandle& op);

// Where the operator's factor of an addition stands, alpha in x + alpha * y; and whether a given one is not 1. One that
// `type` cannot hold is left to the CPU kernel, which refuses it: what an NPU makes of it is not documented.
optional<size_t> factor_argument(const c10::OperatorHandle& op);
bool scales(const c10::IValue& factor, at::ScalarType type);

// Whether a CPU kernel refused for want of half precision: "... not implemented for 'Half'".
bool lacks_half(const c10::Error& error);

// Runs the CPU kernel on the arguments on the stack, widened; float32 results are rounded to `type`, in a call that mixes
// it with float32 only the first.
void compute_in_float(const c10::OperatorHandle& op, torch::jit::Stack* stack, at::ScalarType type);

// Softmax, forward or backward, of half tensors with a float32 result, which PyTorch's CPU kernels lack and an NPU has.
bool mixes_softmax(const c10::OperatorHandle& op);

// Brings the call's arguments to the types that the CPU's kernel takes; returns the type that its result is to have,
// nothing where the kernel's own is right.
optional<at::ScalarType> even_softmax(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace npu_sim
