// Updates of float16 lists with a factor: an NPU's vector unit rounds after each step of them, where it computes
// bfloat16 in float32 (ops-nn, foreach/*/op_kernel: Mul or Div, then Muls and Add or Axpy, on LocalTensor<half>).
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace npu_sim {

// _foreach_add and _foreach_sub of two lists, _foreach_addcmul, _foreach_addcdiv and the same in place.
bool rounds_each_step(const c10::OperatorHandle& op);

// Takes the call's arguments, tensors of float16, off the stack and puts the results there.
void compute_in_steps(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace npu_sim
