// Limits of the hardware that PyTorch's CPU kernels do not have: what would fail on a real NPU fails here.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace npu_sim {

// Whether the operator runs on the matrix unit ("Cube"), which computes in half, bfloat16 and float only.
bool runs_on_cube(const c10::OperatorName& op);

// Throws c10::NotImplementedError where a tensor argument has a type that the matrix unit lacks.
void check_cube_dtypes(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

}  // namespace npu_sim
