// Copies within, to and from the simulated device. They run at once on the caller's thread and never enter
// torch_npu's task queue (whose casting and strided copies would need a device kernel).
#pragma once

#include <torch/library.h>

namespace npu_sim {

void register_copies(torch::Library& aten);

}  // namespace npu_sim
