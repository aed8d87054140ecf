// The ends of a recording. Two may ask for the tasks at a time: aclprof, whose tasks end in a file, and MSPTI, which
// takes them while they come.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../recording/recording.h"

namespace sim {

void start_recording(bool with_operands);
// Appends what was recorded to the file; false where it cannot be written.
bool stop_recording(const std::string& file);

// (kind, id) of a part of the program that a thread is in; the ids are the caller's own.
using ExternalIds = std::vector<std::pair<int32_t, uint64_t>>;
struct Activity {
  Task task;
  ExternalIds inside;  // what the thread that recorded the task was in
};
ExternalIds external_ids();  // of this thread, the innermost of each kind (mspti.cpp)
void start_activities();
void stop_activities();
std::vector<Activity> take_activities();  // since the last call; also after stop_activities

}  // namespace sim
