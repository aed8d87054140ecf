// Sparse COO tensors: torch_npu holds them itself; what it computes through CANN is computed on the host here.
#pragma once

#include <torch/library.h>

namespace npu_sim {

void register_sparse(torch::Library& aten);

}  // namespace npu_sim
