// What the profiler is told of the device's work: between aclprofStart and aclprofStop, and while libmspti.so watches,
// every kernel, copy and collective leaves one Task, and so does what puts streams and the host in order: an event recorded on a stream (mark), a stream
// that waits for one, a host that waits. While nothing is profiled the price is one relaxed load (recording()).
//
// All times are nanoseconds of CLOCK_MONOTONIC_RAW, the clock of torch_npu's own host-side data
// (torch_npu/csrc/toolkit/profiler/common/utils.h, GetClockMonotonicRawNs).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#define SIM_RECORDING __attribute__((visibility("default")))

namespace sim {

SIM_RECORDING extern std::atomic<bool> recording_now;
inline bool recording() { return recording_now.load(std::memory_order_relaxed); }

// Operands as texts: "32,64;256" and "FLOAT;FLOAT", as in CANN's tables. Empty at level 0. turned: the numbers of those
// whose last two dimensions lie the other way round in memory, "0,1".
struct Operands {
  std::string shapes, types, turned;
};

// What one rank and one other have exchanged in a collective.
struct Traffic {
  uint32_t peer;
  uint64_t sent, received;  // bytes
  uint64_t sent_ns, received_ns;
};

struct Task {
  enum Kind { kernel, copy, collective, mark, wait, host_wait };

  Kind kind = kernel;
  std::string name, api;  // api: the call on the host that launched it
  int device = 0;
  int32_t stream = 0;
  long thread = 0;                            // that launched it
  uint64_t called_ns = 0, returned_ns = 0;    // the launch
  uint64_t start_ns = 0, end_ns = 0;          // the work
  Operands inputs, outputs;

  uint64_t bytes = 0;  // that a copy moves, and whether to the host
  bool to_host = false;
  uint64_t number = 0;  // of the mark that is set or waited for, 0 for the whole stream
  // Collectives only.
  std::string group, data_type;
  uint32_t rank = 0;
  uint64_t count = 0, agreed_ns = 0;  // agreed: when every rank was in the call
  std::vector<Traffic> traffic;
};

SIM_RECORDING uint64_t record_clock_ns();
SIM_RECORDING long thread_number();
SIM_RECORDING int32_t stream_number(void* stream);
SIM_RECORDING bool recording_operands();  // whether the level asks for shapes and types
SIM_RECORDING void record(Task task);
// The stream of a host that waits for the whole device.
constexpr int32_t every_stream = -1;
// What a synchronization returns, for those of the simulator's own: no wait of the program's, so none is recorded.
SIM_RECORDING int check_earlier_tasks();
SIM_RECORDING void record_order(Task::Kind kind, int32_t stream, uint64_t number);

// Tells each task as it ends to libmspti.so too, until this is called with nullptr.
using Watcher = void (*)(const Task& task);
SIM_RECORDING void watch_tasks(Watcher watcher);
// What is called whenever somebody begins to watch, and at once where somebody does.
SIM_RECORDING void on_watch(void (*call)());

// The two ends of a recording, for the profiler's functions in the same library.
void start_recording(bool with_operands);
// Appends what was recorded to the file; false where it cannot be written.
bool stop_recording(const std::string& file);

}  // namespace sim
