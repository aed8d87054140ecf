// Keeps the tasks of one profile and writes them, a JSON object a line, where the stand-in msprof reads them.
#include "../recording/recording.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <mutex>

#include "runtime.h"

namespace sim {

std::atomic<bool> recording_now{false};

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
  }
  return result + '"';
}

namespace {

std::mutex mutex;
std::atomic<bool> operands{false}, filing{false};  // filing: between aclprofStart and aclprofStop
std::atomic<Watcher> watching{nullptr};
std::atomic<void (*)()> called_on_watch{nullptr};

auto& tasks = *new std::vector<Task>;  // other threads may still record while statics are destroyed

std::string field(const char* name, const std::string& text) { return ", \"" + std::string(name) + "\": " + quoted(text); }
std::string field(const char* name, uint64_t value) { return ", \"" + std::string(name) + "\": " + std::to_string(value); }

std::string collective_fields(const Task& task) {
  std::string line = field("group", task.group) + field("data_type", task.data_type) + field("rank", task.rank) +
                     field("count", task.count) + field("agreed_ns", task.agreed_ns) + ", \"traffic\": [";
  const char* between = "";
  for (const Traffic& one : task.traffic) {
    line += between + ("{\"peer\": " + std::to_string(one.peer)) + field("sent", one.sent) + field("received", one.received) +
            field("sent_ns", one.sent_ns) + field("received_ns", one.received_ns) + "}";
    between = ", ";
  }
  return line + "]";
}

std::string line_of(const Task& task) {
  static const char* const kinds[] = {"kernel", "copy", "collective", "mark", "wait", "host_wait"};
  if (task.kind >= Task::mark) {
    return "{\"kind\": " + quoted(kinds[task.kind]) + ", \"stream\": " + std::to_string(task.stream) +
           field("number", task.number) + "}\n";
  }
  return "{\"kind\": " + quoted(kinds[task.kind]) + field("name", task.name) + field("api", task.api) +
         field("device", static_cast<uint64_t>(task.device)) + field("stream", static_cast<uint64_t>(task.stream)) +
         field("thread", static_cast<uint64_t>(task.thread)) + field("called_ns", task.called_ns) +
         field("returned_ns", task.returned_ns) + field("start_ns", task.start_ns) + field("end_ns", task.end_ns) +
         field("input_shapes", task.inputs.shapes) + field("input_types", task.inputs.types) +
         field("output_shapes", task.outputs.shapes) + field("output_types", task.outputs.types) +
         (task.inputs.turned.empty() ? "" : field("turned", task.inputs.turned)) +
         (task.kind == Task::collective ? collective_fields(task) : "") + "}\n";
}

}  // namespace

uint64_t record_clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

long thread_number() {
  static thread_local const long number = syscall(SYS_gettid);
  return number;
}

int32_t stream_number(void* stream) {
  int32_t number = 0;
  return aclrtStreamGetId(stream, &number) == ACL_SUCCESS ? number : 0;
}

bool recording_operands() { return operands.load(std::memory_order_relaxed); }

void record(Task task) {
  if (const Watcher watcher = watching.load()) watcher(task);
  std::lock_guard<std::mutex> lock(mutex);
  if (filing) tasks.push_back(std::move(task));
}

void watch_tasks(Watcher watcher) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    watching = watcher;
    recording_now = filing || watcher != nullptr;
  }
  const auto call = called_on_watch.load();
  if (watcher != nullptr && call != nullptr) call();
}

void on_watch(void (*call)()) {
  called_on_watch = call;
  if (watching.load() != nullptr) call();
}

int check_earlier_tasks() { return check_tasks(); }

void record_order(Task::Kind kind, int32_t stream, uint64_t number) {
  Task task;
  task.kind = kind;
  task.stream = stream;
  task.number = number;
  record(std::move(task));
}

void start_recording(bool with_operands) {
  std::lock_guard<std::mutex> lock(mutex);
  operands = with_operands;
  recording_now = filing = true;
}

bool stop_recording(const std::string& file) {
  std::vector<Task> recorded;
  {
    std::lock_guard<std::mutex> lock(mutex);
    operands = filing = false;
    recording_now = watching.load() != nullptr;
    recorded.swap(tasks);
  }
  std::FILE* out = std::fopen(file.c_str(), "a");
  if (out == nullptr) return false;
  bool good = true;
  for (const Task& task : recorded) good = std::fputs(line_of(task).c_str(), out) >= 0 && good;
  return std::fclose(out) == 0 && good;
}

}  // namespace sim
