// What every API function shares: finding the communicator, taking its lock, turning a failure into a code.
#pragma once

#include <hccl/hccl_types.h>

#include <functional>
#include <optional>

#include "../recording/recording.h"
#include "communicator.h"

namespace sim_hccl {

// Runs `work` on a living communicator. A failure is the function's code and message, and ends the group: its later
// calls fail with the same reason, as after an error of a real HCCL communicator.
HcclResult on(HcclComm handle, const char* function, aclrtStream stream, const std::function<void(Communicator&)>& work);

// The same for a call that a graph can hold: where the stream is captured, `work` is done whenever the graph runs, and so
// owns what it needs. Other calls are refused there.
HcclResult on_graph(HcclComm handle, const char* function, aclrtStream stream, std::function<void(Communicator&)> work);

// Whether the handle is a communicator that was made and not destroyed.
bool alive(HcclComm handle);

// Refusal (HCCL_E_PARA) unless the condition holds.
void require(bool condition, const std::string& message);

Call call_of(const char* name, uint64_t count, HcclDataType type, int32_t op = -1, uint32_t root = kNoRoot);

// What the profiler is told of a call on a communicator; nothing where it does not run.
class Recording {
 public:
  Recording(Communicator& group, const char* function, aclrtStream stream, uint64_t called_ns);
  void end();

 private:
  Communicator& group_;
  sim::Task task_;
};

}  // namespace sim_hccl
