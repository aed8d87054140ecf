// Gradients that torch_npu forms in its own way, because PyTorch's formula needs what an NPU lacks.
#pragma once

#include <torch/library.h>

#include <string>

namespace npu_sim {

// Whether the operator's gradient is not PyTorch's: torch_npu's own stays, or register_gradients brings it.
bool has_own_gradient(const std::string& name);

void register_gradients(torch::Library& autograd);

}  // namespace npu_sim
