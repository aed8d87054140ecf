// torch_npu's own operators (npu::...) that ordinary training reaches: format casts, dtype casts, float status.
#pragma once

#include <torch/library.h>

#include <string>

namespace npu_sim {

// Whether register_npu_operators has a kernel for "npu::name.overload" or it is torch_npu's bookkeeping.
bool has_npu_operator(const std::string& name);

void register_npu_operators(torch::Library& npu);

}  // namespace npu_sim
