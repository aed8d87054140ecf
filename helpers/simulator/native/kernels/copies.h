// Copies within, to and from the simulated device. They run at once on the caller's thread and never enter
// torch_npu's task queue (whose casting and strided copies would need a device kernel).
#pragma once

#include <torch/library.h>

namespace npu_sim {

void register_copies(torch::Library& aten);

// fftshift and ifftshift, differentiable.
void register_shifts(torch::Library& aten, torch::Library& autograd);

}  // namespace npu_sim
