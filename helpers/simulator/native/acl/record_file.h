// The two ends of a recording, which the profiler's functions call.
#pragma once

#include <string>

namespace sim {

void start_recording(bool with_operands);
// Appends what was recorded to the file; false where it cannot be written.
bool stop_recording(const std::string& file);

}  // namespace sim
