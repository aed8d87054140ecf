// torch_npu hands copies, event records and collectives to a consumer thread (TASK_QUEUE_ENABLE 1 and 2), while
// simulated kernels run on the caller's thread: each waits for that queue first, so values never race.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <string>

namespace npu_sim {

// Waits until the task queue of this device is empty; its current stream. The device must be the current one.
void* drain_queue(c10::Device device);

// This thread's recent error message of CANN (aclGetRecentErrMsg).
const char* recent_message();

// Runs `work` where torch_npu runs the operator of that name: on its consumer thread, or here with TASK_QUEUE_ENABLE=0.
void run_in_queue(const std::string& name, const std::function<int()>& work);

// torch_npu's release thread polls every microsecond as long as the process lives, 15 to 25 % of a core. A thread
// inherits the timer slack of its creator (prctl(2), PR_SET_TIMERSLACK), so the thread that starts torch_npu takes a
// slack of milliseconds, and its own back in its first drain_queue, when torch_npu has started its threads.
void let_torch_npu_poll_slowly();

// A function of libtorch_npu.so by its symbol; throws c10::Error where this torch_npu has none.
void* torch_npu_symbol(const char* name);

}  // namespace npu_sim
