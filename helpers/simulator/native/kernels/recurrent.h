// Recurrent cells that PyTorch has for accelerators only, made of simulated operators.
#pragma once

#include <torch/library.h>

namespace npu_sim {

void register_recurrent(torch::Library& aten, torch::Library& autograd);

}  // namespace npu_sim
