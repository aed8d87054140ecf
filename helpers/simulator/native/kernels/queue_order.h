// torch_npu hands copies, event records and collectives to a consumer thread (TASK_QUEUE_ENABLE 1 and 2), while
// simulated kernels run on the caller's thread: each waits for that queue first, so values never race.
#pragma once

#include <c10/core/Device.h>

namespace npu_sim {

// Waits until the task queue of this device is empty. The device must be the current one.
void drain_queue(c10::Device device);

}  // namespace npu_sim
