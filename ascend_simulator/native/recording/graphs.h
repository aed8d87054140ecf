// Graphs: what was issued on captured streams, kept to be run again and again (torch.npu.NPUGraph, CANN's aclmdlRI*).
//
// Capturing runs nothing on hardware. Here it does, for the shapes that later calls need; when it ends, what it wrote to
// memory of the program's own is taken back, and its results hold no numbers until the graph runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

#define SIM_GRAPHS __attribute__((visibility("default")))

namespace sim {

class Graph;

// Captures and updates that go on: nearly always 0, so that asking for them costs one relaxed load.
SIM_GRAPHS extern std::atomic<int> captures_now;
inline bool capturing() { return captures_now.load(std::memory_order_relaxed) > 0; }

// The graph that takes what is issued on this stream; nullptr where it is not captured.
SIM_GRAPHS Graph* find_graph(void* stream);

// Work of a graph: 0, or the code of an error whose message is this thread's recent one.
using Work = std::function<int()>;
SIM_GRAPHS void add_to_graph(Graph* graph, void* stream, const std::string& name, Work work);

// Called before a capture writes: what lies there comes back when it ends.
SIM_GRAPHS void keep_before_write(Graph* graph, void* begin, size_t bytes);
// Memory that a captured task takes for its result; `numbers`: floating-point ones, NaN until the graph runs.
SIM_GRAPHS void note_result(Graph* graph, void* begin, size_t bytes, bool numbers);

// 107027 where the stream is captured, which CANN lets nobody wait for; else 0.
SIM_GRAPHS int refuse_wait(const char* function, void* stream);
// 107030 where a capture goes on whose mode forbids what blocks the device; else 0.
SIM_GRAPHS int refuse_blocking(const char* function);

// Events that order streams: one that waits for a captured stream is captured too.
SIM_GRAPHS void record_in_graph(void* event, void* stream);
SIM_GRAPHS int wait_in_graph(const char* function, void* stream, void* event, bool recorded);
SIM_GRAPHS int refuse_event(const char* function, void* event);
SIM_GRAPHS void forget_event(void* event);

}  // namespace sim
