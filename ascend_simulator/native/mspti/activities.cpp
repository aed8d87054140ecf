// Each task of the simulated device (recording.h) becomes the records that MSPTI has for it. Their times are those of
// PyTorch's CPU kernels on this host, in nanoseconds since 1970, the clock of torch.profiler; a kernel's type, which on
// hardware names the engine, is SIMULATED.
#include "activities.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../recording/recording.h"

namespace sim_mspti {

std::atomic<uint32_t> kinds{0};

namespace {

constexpr const char* kEngine = "SIMULATED";
constexpr size_t kMany = 1 << 20;  // bytes after which records are handed over unasked

std::mutex mutex;       // of what is recorded
std::mutex delivering;  // one delivery at a time, so that records stay in order; never taken with `mutex` held
msptiBuffersCallbackRequestFunc request = nullptr;
msptiBuffersCallbackCompleteFunc complete = nullptr;
auto& pending = *new std::vector<uint8_t>;  // records one behind another; other threads may record while statics end
auto& texts = *new std::set<std::string>;   // a name stays valid until the process ends
std::atomic<uint64_t> next_number{1};

uint32_t period_ms = 0;  // guarded by `sleeping`
auto& sleeping = *new std::mutex;  // a thread waits with these while statics end: their end would wait for it
auto& wake = *new std::condition_variable;

thread_local std::vector<uint64_t> externals[MSPTI_EXTERNAL_CORRELATION_KIND_SIZE];

bool asked(msptiActivityKind kind) { return (kinds.load(std::memory_order_relaxed) >> kind & 1) != 0; }

uint64_t wall_minus_raw() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec) - sim::record_clock_ns();
}

const char* kept(const std::string& text) { return texts.insert(text).first->c_str(); }

template <class Record>
void add(const Record& record) {
  if (!asked(record.kind)) return;
  const auto* bytes = reinterpret_cast<const uint8_t*>(&record);
  pending.insert(pending.end(), bytes, bytes + sizeof record);
}

// MSPTI's number for HCCL's name of a data type; both lists are public.
uint32_t number_of(const std::string& type) {
  static const std::pair<const char*, uint32_t> numbers[] = {
      {"int8", 0},   {"int16", 1}, {"int32", 2},  {"fp16", 3},   {"fp32", 4},  {"int64", 5},
      {"uint64", 6}, {"uint8", 7}, {"uint16", 8}, {"uint32", 9}, {"fp64", 10}, {"bfp16", 11}};
  for (const auto& [name, number] : numbers) {
    if (type == name) return number;
  }
  return 0x0000FFFF;
}

// GB/s of what this rank sent, 0 where it sent nothing.
uint64_t bandwidth(const sim::Task& task) {
  uint64_t sent = 0;
  for (const sim::Traffic& one : task.traffic) sent += one.sent;
  return task.end_ns > task.start_ns ? sent / (task.end_ns - task.start_ns) : 0;
}

// A launch of an operator is a node's call in CANN's words, aclrt... and Hccl... are calls of AscendCL.
msptiActivityKind kind_of_call(const sim::Task& task) {
  return task.api == "launch" ? MSPTI_ACTIVITY_KIND_NODE_API : MSPTI_ACTIVITY_KIND_ACL_API;
}

void add_work(const sim::Task& task, uint64_t shift, uint64_t number) {
  const uint64_t start = task.start_ns + shift, end = task.end_ns + shift;
  const auto device = static_cast<uint32_t>(task.device), stream = static_cast<uint32_t>(task.stream);
  const char* name = kept(task.name);
  if (task.kind == sim::Task::kernel) {
    add(msptiActivityKernel{MSPTI_ACTIVITY_KIND_KERNEL, start, end, device, stream, number, kEngine, name});
  } else if (task.kind == sim::Task::copy) {
    const uint32_t way = task.to_host ? 3 : 2;  // MSPTI_ACTIVITY_MEMCPY_KIND_DTOH, _HTOD
    add(msptiActivityMemcpy{MSPTI_ACTIVITY_KIND_MEMCPY, way, task.bytes, start, end, device, stream, number, 1});
  } else {
    const char* group = kept(task.group);
    add(msptiActivityHccl{MSPTI_ACTIVITY_KIND_HCCL, start, end, device, stream, bandwidth(task), name, group});
    add(msptiActivityCommunication{MSPTI_ACTIVITY_KIND_COMMUNICATION, number_of(task.data_type), task.count, device, stream, start,
                                   end, kEngine, name, group, number});
  }
}

void watch(const sim::Task& task) {
  if (task.kind >= sim::Task::mark) return;
  bool many = false;
  {
    const uint64_t shift = wall_minus_raw(), number = next_number++;
    std::lock_guard<std::mutex> lock(mutex);
    for (uint32_t kind = MSPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN; kind < MSPTI_EXTERNAL_CORRELATION_KIND_SIZE; ++kind) {
      if (externals[kind].empty()) continue;
      add(msptiActivityExternalCorrelation{MSPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                           static_cast<msptiExternalCorrelationKind>(kind), externals[kind].back(), number});
    }
    for (const msptiActivityKind kind : {MSPTI_ACTIVITY_KIND_API, kind_of_call(task)}) {  // a call of any sort, and of its own
      add(msptiActivityApi{kind, task.called_ns + shift, task.returned_ns + shift, static_cast<uint32_t>(getpid()),
                           static_cast<uint32_t>(task.thread), number, kept(task.api)});
    }
    add_work(task, shift, number);
    many = pending.size() > kMany;
  }
  if (many) deliver();
}

// Fills one buffer of the caller's from `records`, from byte `begin`; returns where the next one begins. A record that is
// larger than a whole buffer is counted in `too_large` and left out.
size_t fill_one(const std::vector<uint8_t>& records, size_t begin, size_t* too_large) {
  uint8_t* buffer = nullptr;
  size_t size = 0, most = 0, count = 0, used = 0;
  request(&buffer, &size, &most);
  if (buffer == nullptr) return records.size();  // declined: the records are dropped, as MSPTI's reference allows
  const auto size_at = [&](size_t at) { return size_of(reinterpret_cast<const msptiActivity*>(records.data() + at)->kind); };
  while (begin + used < records.size() && (most == 0 || count < most)) {
    const size_t next = size_at(begin + used);
    if (used + next > size) break;
    used += next;
    ++count;
  }
  std::memcpy(buffer, records.data() + begin, used);
  complete(buffer, size, used);
  if (used > 0) return begin + used;
  ++*too_large;
  return begin + size_at(begin);
}

void deliver_now_and_then() {
  std::unique_lock<std::mutex> lock(sleeping);
  while (true) {
    if (period_ms == 0) {
      wake.wait(lock);
    } else if (wake.wait_for(lock, std::chrono::milliseconds(period_ms)) == std::cv_status::timeout) {
      lock.unlock();  // the program's own callbacks may change the period
      deliver();
      lock.lock();
    }
  }
}

}  // namespace

void watch_if_asked() { sim::watch_tasks(kinds.load() != 0 ? &watch : nullptr); }

bool has_records(msptiActivityKind kind) {
  const char* lacking = nullptr;
  switch (kind) {
    case MSPTI_ACTIVITY_KIND_MARKER: lacking = "MARKER: mstx is not simulated"; break;
    case MSPTI_ACTIVITY_KIND_MEMORY: lacking = "MEMORY"; break;
    case MSPTI_ACTIVITY_KIND_MEMSET: lacking = "MEMSET: memory is set at once"; break;
    case MSPTI_ACTIVITY_KIND_RUNTIME_API: lacking = "RUNTIME_API: there is no runtime below AscendCL"; break;
    default: return kind > MSPTI_ACTIVITY_KIND_INVALID && kind < MSPTI_ACTIVITY_KIND_COUNT;
  }
  std::fprintf(stderr, "[simulated NPU] libmspti.so has no records of kind %s\n", lacking);
  return false;
}

size_t size_of(msptiActivityKind kind) {
  switch (kind) {
    case MSPTI_ACTIVITY_KIND_KERNEL: return sizeof(msptiActivityKernel);
    case MSPTI_ACTIVITY_KIND_HCCL: return sizeof(msptiActivityHccl);
    case MSPTI_ACTIVITY_KIND_MEMCPY: return sizeof(msptiActivityMemcpy);
    case MSPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(msptiActivityExternalCorrelation);
    case MSPTI_ACTIVITY_KIND_COMMUNICATION: return sizeof(msptiActivityCommunication);
    default: return sizeof(msptiActivityApi);
  }
}

void deliver() {
  std::lock_guard<std::mutex> one(delivering);
  if (request == nullptr || complete == nullptr) return;
  std::vector<uint8_t> records;
  {
    std::lock_guard<std::mutex> lock(mutex);
    records.swap(pending);
  }
  size_t too_large = 0;
  for (size_t begin = 0; begin < records.size();) begin = fill_one(records, begin, &too_large);
  if (too_large > 0) {
    std::fprintf(stderr, "[simulated NPU] libmspti.so left out %zu records: the buffers that the program gave hold none of "
                 "their size\n", too_large);
  }
}

void set_buffers(msptiBuffersCallbackRequestFunc asks, msptiBuffersCallbackCompleteFunc takes) {
  std::lock_guard<std::mutex> one(delivering);
  request = asks;
  complete = takes;
}

void deliver_every(uint32_t milliseconds) {
  static std::once_flag started;
  {
    std::lock_guard<std::mutex> lock(sleeping);
    period_ms = milliseconds;
  }
  if (milliseconds > 0) std::call_once(started, [] { std::thread(deliver_now_and_then).detach(); });
  wake.notify_all();
}

void push_external(msptiExternalCorrelationKind kind, uint64_t id) { externals[kind].push_back(id); }

bool pop_external(msptiExternalCorrelationKind kind, uint64_t* last) {
  if (externals[kind].empty()) return false;
  if (last != nullptr) *last = externals[kind].back();
  externals[kind].pop_back();
  return true;
}

}  // namespace sim_mspti
