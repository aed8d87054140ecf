// Graphs of captured streams. Codes are those of rt_error_codes.h in torch_npu's wheel. That waiting for a captured
// stream gives 107027 and a blocking copy 107030 is seen in logs of real NPUs (github.com/vllm-project/vllm-omni/issues/4519,
// github.com/vllm-project/vllm-ascend/pull/10309); the other codes follow from their names. Order of streams is
// that of CUDA's captures, on which torch_npu builds.
#include "../recording/graphs.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "../recording/recording.h"
#include "../shapes_only/contents.h"
#include "runtime.h"

namespace sim {

std::atomic<int> captures_now{0};

struct Captured {
  std::string name;
  std::shared_ptr<const Work> work;
};

// How far each stream of a capture had come.
using Clock = std::map<void*, uint64_t>;

class Graph {
 public:
  Graph(uint32_t id, void* origin, aclmdlRICaptureMode mode, long thread) : id(id), origin(origin), mode(mode), thread(thread) {}

  // Of the memory that results lie in, a task may write without anybody who could see it.
  bool is_result(const char* at) const {
    auto found = results.upper_bound(const_cast<char*>(at));
    return found != results.begin() && at < (--found)->first + found->second.first;
  }

  void take_back() {
    for (auto& [begin, bytes] : kept) std::memcpy(begin, bytes.data(), bytes.size());
    kept.clear();
    for (auto& [begin, result] : results) {
      if (result.second && !shapes_only()) std::memset(begin, 0xff, result.first);  // NaN in every floating-point format
    }
    results.clear();
  }

  const uint32_t id;
  void* const origin;
  const aclmdlRICaptureMode mode;
  const long thread;
  bool active = true;
  std::string why_broken;  // by the first call that no graph can hold
  std::vector<Captured> tasks;
  std::map<void*, Clock> clocks;  // by captured stream
  std::map<char*, std::vector<char>> kept;
  std::map<char*, std::pair<size_t, bool>> results;
  std::optional<size_t> group_begins;
};

namespace {

// Fails, and breaks the capture.
aclError break_capture(Graph* graph, aclError code, const char* function, const char* text) {
  if (graph->why_broken.empty()) graph->why_broken = std::string(function) + ": " + text;
  return fail(code, function, "%s", text);
}

std::mutex mutex;
uint32_t last_id = 0;

// Tasks of a graph that can be replaced.
struct Group {
  Graph* graph;
  size_t begin, end;
};

// Replaces the tasks of a group with those of a stream.
struct Update {
  Group* group;
  Graph* collected;
};

struct Moment {
  Graph* graph;
  Clock clock;
};

// These outlive the static destructors of torch_npu.
auto& graphs = *new std::unordered_set<Graph*>;
auto& groups = *new std::unordered_set<Group*>;
auto& captured = *new std::unordered_map<void*, Graph*>;
auto& updates = *new std::unordered_map<void*, Update>;
auto& events = *new std::unordered_map<void*, Moment>;
thread_local aclmdlRICaptureMode thread_mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;

Graph* graph_of(void* stream) {
  if (const auto found = updates.find(stream); found != updates.end()) return found->second.collected;
  const auto found = captured.find(stream);
  return found == captured.end() ? nullptr : found->second;
}

void merge(Clock& into, const Clock& from) {
  for (const auto& [stream, count] : from) into[stream] = std::max(into[stream], count);
}

void let_go(Graph* graph) {
  for (auto stream = captured.begin(); stream != captured.end();) {
    stream = stream->second == graph ? captured.erase(stream) : std::next(stream);
  }
  for (auto event = events.begin(); event != events.end();) {
    event = event->second.graph == graph ? events.erase(event) : std::next(event);
  }
}

bool has_unjoined(const Graph& graph) {
  const auto& known = graph.clocks.at(graph.origin);
  for (const auto& [stream, clock] : graph.clocks) {
    const auto own = clock.find(stream);
    const auto seen = known.find(stream);
    if (own != clock.end() && own->second > 0 && (seen == known.end() || seen->second < own->second)) return true;
  }
  return false;
}

aclError run(const char* function, const std::vector<Captured>& tasks, int32_t stream) {
  const uint64_t called_ns = recording() ? record_clock_ns() : 0;
  for (const Captured& task : tasks) {
    Task told;
    told.start_ns = called_ns > 0 ? record_clock_ns() : 0;
    try {
      if (const int code = (*task.work)()) return code;
    } catch (const std::exception& error) {
      return fail(ACL_ERROR_RT_AICORE_EXCEPTION, function, "%s of the graph: %s", task.name.c_str(), error.what());
    }
    if (called_ns == 0 || !recording()) continue;
    told.kind = Task::kernel;
    told.name = task.name;
    told.api = "launch";
    told.device = current_device();
    told.stream = stream;
    told.thread = thread_number();
    told.called_ns = told.returned_ns = called_ns;
    told.end_ns = record_clock_ns();
    record(std::move(told));
  }
  return ACL_SUCCESS;
}

// What a graph does now: an update may follow while it does not run.
aclError tasks_of(const char* function, aclmdlRI model, std::vector<Captured>* tasks) {
  std::lock_guard<std::mutex> lock(mutex);
  auto* graph = static_cast<Graph*>(model);
  if (graphs.count(graph) == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, function, "%p is no graph", model);
  if (graph->active) return fail(ACL_ERROR_RT_MODEL_CAPTURED, function, "the graph is still being captured");
  *tasks = graph->tasks;
  return ACL_SUCCESS;
}

}  // namespace

Graph* find_graph(void* stream) {
  if (!capturing()) return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  return graph_of(stream);
}

void add_to_graph(Graph* graph, void* stream, const std::string& name, Work work) {
  std::lock_guard<std::mutex> lock(mutex);
  graph->tasks.push_back({name, std::make_shared<const Work>(std::move(work))});
  ++graph->clocks[stream][stream];
}

void keep_before_write(Graph* graph, void* begin, size_t bytes) {
  auto* at = static_cast<char*>(begin);
  std::lock_guard<std::mutex> lock(mutex);
  if (bytes == 0 || shapes_only() || graph->is_result(at)) return;
  auto& kept = graph->kept[at];
  if (kept.size() < bytes) {
    const size_t before = kept.size();
    kept.resize(bytes);
    std::memcpy(kept.data() + before, at + before, bytes - before);
  }
}

void note_result(Graph* graph, void* begin, size_t bytes, bool numbers) {
  std::lock_guard<std::mutex> lock(mutex);
  if (bytes > 0) graph->results[static_cast<char*>(begin)] = {bytes, numbers};
}

int refuse_wait(const char* function, void* stream) {
  Graph* const graph = find_graph(stream);
  if (graph == nullptr) return ACL_SUCCESS;
  return break_capture(graph, ACL_ERROR_RT_STREAM_CAPTURED, function, "nobody may wait for a stream that is captured: reading a value "
              "(item, cpu, print, nonzero, a blocking copy) is no part of a graph");
}

int refuse_blocking(const char* function) {
  if (!capturing() || thread_mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED) return ACL_SUCCESS;
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto& [stream, graph] : captured) {
    const bool here = graph->mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL ||
                      (graph->mode == ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL && graph->thread == thread_number());
    if (!here) continue;
    return break_capture(graph, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, function, "a stream is captured, in a mode that does not allow this");
  }
  return ACL_SUCCESS;
}

void record_in_graph(void* event, void* stream) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = captured.find(stream);
  if (found == captured.end()) {
    events.erase(event);
  } else {
    events[event] = {found->second, found->second->clocks[stream]};
  }
}

int wait_in_graph(const char* function, void* stream, void* event, bool recorded) {
  if (!capturing()) return ACL_SUCCESS;
  std::lock_guard<std::mutex> lock(mutex);
  const auto moment = events.find(event);
  const auto mine = captured.find(stream);
  if (moment == events.end()) {
    if (mine == captured.end() || !recorded) return ACL_SUCCESS;
    return break_capture(mine->second, ACL_ERROR_RT_CAPTURE_DEPENDENCY, function, "a captured stream waits for work that was not captured");
  }
  Graph* const graph = moment->second.graph;
  if (mine != captured.end() && mine->second != graph) {
    return fail(ACL_ERROR_RT_CAPTURE_DEPENDENCY, function, "a stream of one graph waits for a stream of another");
  }
  captured[stream] = graph;
  merge(graph->clocks[stream], moment->second.clock);
  return ACL_SUCCESS;
}

int refuse_event(const char* function, void* event) {
  if (!capturing()) return ACL_SUCCESS;
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = events.find(event);
  if (found == events.end()) return ACL_SUCCESS;
  return break_capture(found->second.graph, ACL_ERROR_RT_EVENT_CAPTURED, function, "the event was recorded on a captured stream");
}

void forget_event(void* event) {
  if (!capturing()) return;
  std::lock_guard<std::mutex> lock(mutex);
  events.erase(event);
}

}  // namespace sim

using sim::captured;
using sim::Graph;
using sim::graphs;
using sim::groups;
using sim::Group;
using sim::updates;

// What a function takes away is destroyed after it has let go of the lock: what tasks held may be memory, whose end is
// an event.
#define SIM_LOCK() std::lock_guard<std::mutex> lock(sim::mutex)
#define SIM_FIND_CAPTURE(name, stream)                    \
  SIM_CHECK_STREAM(stream);                               \
  SIM_LOCK();                                             \
  const auto found_##name = captured.find(stream);        \
  SIM_REQUIRE(found_##name != captured.end(), ACL_ERROR_RT_STREAM_NOT_CAPTURED, "the stream is not captured"); \
  Graph* const name = found_##name->second

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
  SIM_CHECK_STREAM(stream);
  SIM_REQUIRE(stream != nullptr, ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, "the default stream cannot be captured");
  SIM_REQUIRE(mode >= ACL_MODEL_RI_CAPTURE_MODE_GLOBAL && mode <= ACL_MODEL_RI_CAPTURE_MODE_RELAXED,
              ACL_ERROR_RT_PARAM_INVALID, "%d is no mode of a capture", static_cast<int>(mode));
  SIM_LOCK();
  SIM_REQUIRE(captured.count(stream) == 0, ACL_ERROR_RT_STREAM_CAPTURED, "the stream is captured already");
  auto* graph = new Graph(++sim::last_id, stream, mode, sim::thread_number());
  graph->clocks[stream];
  graphs.insert(graph);
  captured[stream] = graph;
  ++sim::captures_now;
  return ACL_SUCCESS;
}

aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus* status, aclmdlRI* model) {
  if (!sim::capturing()) {  // torch_npu asks for every random number and every block of memory
    if (model != nullptr) *model = nullptr;
    return sim::tell(__func__, "status", status, ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  }
  SIM_CHECK_STREAM(stream);
  SIM_LOCK();
  const auto found = captured.find(stream);
  Graph* const graph = found == captured.end() ? nullptr : found->second;
  if (model != nullptr) *model = graph;
  return sim::tell(__func__, "status", status, graph == nullptr ? ACL_MODEL_RI_CAPTURE_STATUS_NONE
                                               : !graph->why_broken.empty() ? ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED
                                                                : ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
}

aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI* model) {
  SIM_REQUIRE(model != nullptr, ACL_ERROR_RT_PARAM_INVALID, "modelRI is null");
  std::unique_ptr<Graph> gone;
  SIM_FIND_CAPTURE(graph, stream);
  SIM_REQUIRE(graph->origin == stream, ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, "the capture began on another stream");
  const bool unjoined = sim::has_unjoined(*graph);
  const std::string why = graph->why_broken;
  sim::let_go(graph);
  --sim::captures_now;
  graph->take_back();
  graph->active = false;
  *model = nullptr;
  if (unjoined || !why.empty()) {
    graphs.erase(graph);
    gone.reset(graph);
    SIM_REQUIRE(why.empty(), ACL_ERROR_RT_STREAM_UNJOINED, "the capture was broken by a call that no graph can hold: %s",
                why.c_str());
    SIM_FAIL(ACL_ERROR_RT_STREAM_UNJOINED, "a stream of the capture was not joined: its end has to be waited for");
  }
  *model = graph;
  return ACL_SUCCESS;
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode) {
  SIM_REQUIRE(mode != nullptr, ACL_ERROR_RT_PARAM_INVALID, "mode is null");
  std::swap(*mode, sim::thread_mode);
  return ACL_SUCCESS;
}

aclError aclmdlRIExecuteAsync(aclmdlRI model, aclrtStream stream) {
  SIM_CHECK_STREAM(stream);
  if (const int code = sim::refuse_wait(__func__, stream)) return code;
  std::vector<sim::Captured> tasks;
  if (aclError code = sim::tasks_of(__func__, model, &tasks)) return code;
  return sim::run(__func__, tasks, sim::stream_number(stream));
}

aclError aclmdlRIExecute(aclmdlRI model, int32_t) {
  std::vector<sim::Captured> tasks;
  if (aclError code = sim::tasks_of(__func__, model, &tasks)) return code;
  return sim::run(__func__, tasks, 0);
}

aclError aclmdlRIDestroy(aclmdlRI model) {
  std::unique_ptr<Graph> gone;
  SIM_LOCK();
  auto* graph = static_cast<Graph*>(model);
  SIM_REQUIRE(graphs.count(graph) > 0, ACL_ERROR_RT_PARAM_INVALID, "%p is no graph", model);
  SIM_REQUIRE(!graph->active, ACL_ERROR_RT_MODEL_CAPTURED, "the graph is still being captured");
  graphs.erase(graph);
  for (auto group = groups.begin(); group != groups.end();) {
    if ((*group)->graph != graph) {
      ++group;
      continue;
    }
    delete *group;
    group = groups.erase(group);
  }
  gone.reset(graph);
  return ACL_SUCCESS;
}

aclError aclmdlRIGetId(aclmdlRI model, uint32_t* id) {
  SIM_LOCK();
  auto* graph = static_cast<Graph*>(model);
  SIM_REQUIRE(graphs.count(graph) > 0, ACL_ERROR_RT_PARAM_INVALID, "%p is no graph", model);
  return sim::tell(__func__, "modelRIId", id, graph->id);
}

// The tasks by name, in the order in which they run; no format of CANN's.
aclError aclmdlRIDebugJsonPrint(aclmdlRI model, const char* path, uint32_t) {
  SIM_REQUIRE(path != nullptr, ACL_ERROR_RT_PARAM_INVALID, "path is null");
  std::vector<sim::Captured> tasks;
  if (aclError code = sim::tasks_of(__func__, model, &tasks)) return code;
  std::FILE* out = std::fopen(path, "w");
  SIM_REQUIRE(out != nullptr, ACL_ERROR_RT_PARAM_INVALID, "cannot write %s", path);
  std::fputs("{\"from\": \"simulated NPU\", \"tasks\": [", out);
  for (size_t at = 0; at < tasks.size(); ++at) std::fprintf(out, "%s%s", at > 0 ? ", " : "", sim::quoted(tasks[at].name).c_str());
  std::fputs("]}\n", out);
  SIM_REQUIRE(std::fclose(out) == 0, ACL_ERROR_RT_PARAM_INVALID, "cannot write %s", path);
  return ACL_SUCCESS;
}

// Groups of tasks that a later call replaces: an attention whose lengths change from step to step.
aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream) {
  SIM_FIND_CAPTURE(graph, stream);
  SIM_REQUIRE(!graph->group_begins, ACL_ERROR_RT_PARAM_INVALID, "a group of tasks is open already");
  graph->group_begins = graph->tasks.size();
  return ACL_SUCCESS;
}

aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp* handle) {
  SIM_REQUIRE(handle != nullptr, ACL_ERROR_RT_PARAM_INVALID, "handle is null");
  SIM_FIND_CAPTURE(graph, stream);
  SIM_REQUIRE(graph->group_begins, ACL_ERROR_RT_PARAM_INVALID, "no group of tasks is open");
  auto* group = new Group{graph, *graph->group_begins, graph->tasks.size()};
  graph->group_begins.reset();
  groups.insert(group);
  *handle = group;
  return ACL_SUCCESS;
}

aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle) {
  SIM_CHECK_STREAM(stream);
  SIM_LOCK();
  auto* group = static_cast<Group*>(handle);
  SIM_REQUIRE(groups.count(group) > 0, ACL_ERROR_RT_PARAM_INVALID, "%p is no group of tasks", handle);
  SIM_REQUIRE(!group->graph->active, ACL_ERROR_RT_MODEL_CAPTURED, "the graph is still being captured");
  SIM_REQUIRE(captured.count(stream) == 0, ACL_ERROR_RT_STREAM_CAPTURED, "the stream is captured");
  SIM_REQUIRE(updates.count(stream) == 0, ACL_ERROR_RT_PARAM_INVALID, "the stream updates a group already");
  updates[stream] = {group, new Graph(0, stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED, sim::thread_number())};
  ++sim::captures_now;
  return ACL_SUCCESS;
}

aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream) {
  SIM_CHECK_STREAM(stream);
  std::unique_ptr<Graph> gone;
  SIM_LOCK();
  const auto found = updates.find(stream);
  SIM_REQUIRE(found != updates.end(), ACL_ERROR_RT_PARAM_INVALID, "the stream updates no group of tasks");
  const auto [group, collected] = found->second;
  updates.erase(found);
  --sim::captures_now;
  for (auto& [begin, bytes] : collected->kept) std::memcpy(begin, bytes.data(), bytes.size());
  const size_t given = collected->tasks.size(), wanted = group->end - group->begin;
  const bool fits = given == wanted;
  gone.reset(collected);
  if (fits) {
    const auto first = group->graph->tasks.begin() + static_cast<ptrdiff_t>(group->begin);
    std::swap_ranges(collected->tasks.begin(), collected->tasks.end(), first);
  }
  SIM_REQUIRE(fits, ACL_ERROR_RT_PARAM_INVALID, "the group has %zu tasks, the update %zu", wanted, given);
  return ACL_SUCCESS;
}
