// torch.profiler's traces: torch_npu names the device in them as it names a real one, so that the file itself has to say
// that it was simulated.
#pragma once

namespace npu_sim {

void name_device_in_traces();

}  // namespace npu_sim
