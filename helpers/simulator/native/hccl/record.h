// What the profiler is told of a call on a communicator; nothing where it does not run.
#pragma once

#include <optional>

#include "../recording/recording.h"
#include "communicator.h"

namespace sim_hccl {

class Recording {
 public:
  Recording(Communicator& group, const char* function, aclrtStream stream, uint64_t called_ns);
  void end();

 private:
  Communicator& group_;
  sim::Task task_;
};

}  // namespace sim_hccl
