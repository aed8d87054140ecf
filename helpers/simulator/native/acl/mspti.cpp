// MSPTI, from which torch_npu takes the device's part of torch.profiler (torch_npu/csrc/profiler/
// mspti_activity_profiler.cpp): kernels and collectives with the times that they took on the CPU. libmspti.so is
// another name of this library. Names, layouts and meaning: https://www.hiascend.com/document, "MSPTI", C API.
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <set>

#include "record_file.h"
#include "runtime.h"

using msptiResult = int;

namespace {

enum Result : msptiResult {
  kSuccess = 0,
  kInvalidParameter = 1,
  kMultipleSubscribers = 2,
  kMaxLimit = 3,
  kQueueEmpty = 5,
  kInner = 999
};
enum Kind : int32_t { kKernel = 2, kMemset = 6, kMemcpy = 7, kExternal = 8, kCommunication = 9, kAclApi = 10 };
constexpr int32_t kExternalKinds = 5;
constexpr int32_t kNoDataType = 0xFFFF;

#define MSPTI_RECORD __attribute__((packed, aligned(8)))

struct MSPTI_RECORD KernelRecord {
  int32_t kind;
  uint64_t start_ns, end_ns;
  uint32_t device, stream;
  uint64_t correlation;
  const char *type, *name;
};

struct MSPTI_RECORD CommunicationRecord {
  int32_t kind, data_type;
  uint64_t count;
  uint32_t device, stream;
  uint64_t start_ns, end_ns;
  const char *algorithm, *name, *group;
  uint64_t correlation;
};

struct MSPTI_RECORD ExternalRecord {
  int32_t kind, external_kind;
  uint64_t external_id, correlation;
};

using RequestBuffer = void (*)(uint8_t** buffer, size_t* size, size_t* most_records);
using CompleteBuffer = void (*)(uint8_t* buffer, size_t size, size_t valid);

std::mutex mutex;
int subscriber = 0;  // its address is the one handle there can be
bool subscribed = false;
RequestBuffer request_buffer = nullptr;
CompleteBuffer complete_buffer = nullptr;
std::set<int32_t> enabled, asked;  // asked: enabled at any time since the subscription
uint64_t correlation = 0;
thread_local std::vector<uint64_t> external_stacks[kExternalKinds];

// Records hold pointers, which stay good.
const char* kept(const std::string& text) {
  static auto* all = new std::set<std::string>;
  return all->insert(text).first->c_str();
}

// MSPTI numbers data types as HCCL does (HcclDataType); the names are those of libhccl.so's own messages.
int32_t data_type_of(const std::string& name) {
  static const std::map<std::string, int32_t> numbers = {
      {"int8", 0},   {"int16", 1}, {"int32", 2},  {"fp16", 3},   {"fp32", 4},  {"int64", 5},
      {"uint64", 6}, {"uint8", 7}, {"uint16", 8}, {"uint32", 9}, {"fp64", 10}, {"bfp16", 11}};
  const auto found = numbers.find(name);
  return found == numbers.end() ? kNoDataType : found->second;
}

// What to add to a task's times: MSPTI's are those of the epoch.
uint64_t epoch_shift_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const auto wall_ns = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  return wall_ns - sim::record_clock_ns();
}

template <class Record>
void add(std::string& bytes, const Record& record) {
  bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
}

// The records of one task, in MSPTI's order: what the program was in, then the task. Empty where nobody asked for it.
std::string records_of(const sim::Activity& one, uint64_t shift_ns) {
  const sim::Task& task = one.task;
  const int32_t kind = task.kind == sim::Task::collective ? kCommunication : kKernel;
  std::string bytes;
  if (task.kind == sim::Task::copy || asked.count(kind) == 0) return bytes;
  ++correlation;
  if (asked.count(kExternal) > 0) {
    for (const auto& [of, id] : one.inside) add(bytes, ExternalRecord{kExternal, of, id, correlation});
  }
  const auto device = static_cast<uint32_t>(task.device), stream = static_cast<uint32_t>(task.stream);
  const uint64_t start_ns = task.start_ns + shift_ns, end_ns = task.end_ns + shift_ns;
  if (kind == kKernel) {
    add(bytes, KernelRecord{kind, start_ns, end_ns, device, stream, correlation, "SIMULATED", kept(task.name)});
  } else {
    add(bytes, CommunicationRecord{kind, data_type_of(task.data_type), task.count, device, stream, start_ns, end_ns,
                                   "SIMULATED", kept(task.name), kept(task.group), correlation});
  }
  return bytes;
}

// One buffer full of the records from `at` on; the place of the first that is left. Without a buffer they are lost.
size_t hand_over(const std::vector<std::string>& records, size_t at) {
  uint8_t* buffer = nullptr;
  size_t size = 0, most = 0, valid = 0;
  request_buffer(&buffer, &size, &most);
  if (buffer == nullptr || records[at].size() > size) return records.size();
  for (; at < records.size() && valid + records[at].size() <= size; ++at) {
    std::memcpy(buffer + valid, records[at].data(), records[at].size());
    valid += records[at].size();
  }
  complete_buffer(buffer, size, valid);
  return at;
}

size_t size_of(int32_t kind) {
  return kind == kKernel ? sizeof(KernelRecord)
         : kind == kCommunication ? sizeof(CommunicationRecord)
         : kind == kExternal ? sizeof(ExternalRecord)
                             : 0;
}

// torch_npu asks for copies and calls of AscendCL too, and reads no record of them: none are made.
bool known(int32_t kind) { return size_of(kind) > 0 || kind == kMemcpy || kind == kMemset || kind == kAclApi; }

void follow_tasks() {
  const bool wanted = enabled.count(kKernel) + enabled.count(kCommunication) > 0;
  wanted ? sim::start_activities() : sim::stop_activities();
}

msptiResult refuse(const char* function, const char* why, msptiResult code = kInvalidParameter) {
  sim::fail(ACL_ERROR_INVALID_PARAM, function, "%s", why);
  return code;
}

}  // namespace

sim::ExternalIds sim::external_ids() {
  ExternalIds found;
  for (int32_t kind = 0; kind < kExternalKinds; ++kind) {
    if (!external_stacks[kind].empty()) found.emplace_back(kind, external_stacks[kind].back());
  }
  return found;
}

// Callbacks of single calls have to be enabled by functions that are not here, so that `callback` is never due.
SIM_EXPORT msptiResult msptiSubscribe(void** handle, void* /*callback*/, void* /*userdata*/) {
  std::lock_guard<std::mutex> lock(mutex);
  if (handle == nullptr) return refuse(__func__, "the subscriber is null");
  if (subscribed) return refuse(__func__, "there is a subscriber already", kMultipleSubscribers);
  subscribed = true;
  asked = enabled;
  *handle = &subscriber;
  return kSuccess;
}

SIM_EXPORT msptiResult msptiUnsubscribe(void* handle) {
  std::lock_guard<std::mutex> lock(mutex);
  if (handle != &subscriber || !subscribed) return refuse(__func__, "this is no subscriber");
  subscribed = false;
  return kSuccess;
}

SIM_EXPORT msptiResult msptiActivityRegisterCallbacks(RequestBuffer request, CompleteBuffer complete) {
  std::lock_guard<std::mutex> lock(mutex);
  if (request == nullptr || complete == nullptr) return refuse(__func__, "a callback is null");
  request_buffer = request;
  complete_buffer = complete;
  return kSuccess;
}

SIM_EXPORT msptiResult msptiActivityEnable(int32_t kind) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!known(kind)) return refuse(__func__, "the simulator lacks this kind of record", kInner);
  enabled.insert(kind);
  asked.insert(kind);
  follow_tasks();
  return kSuccess;
}

SIM_EXPORT msptiResult msptiActivityDisable(int32_t kind) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!known(kind)) return refuse(__func__, "the simulator lacks this kind of record");
  enabled.erase(kind);
  follow_tasks();
  return kSuccess;
}

SIM_EXPORT bool msptiActivityIsEnabled(int32_t kind) {
  std::lock_guard<std::mutex> lock(mutex);
  return enabled.count(kind) > 0;
}

SIM_EXPORT msptiResult msptiActivityFlushAll(uint32_t) {
  std::vector<std::string> records;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (request_buffer == nullptr) return refuse(__func__, "called before msptiActivityRegisterCallbacks");
    const uint64_t shift_ns = epoch_shift_ns();
    for (const sim::Activity& one : sim::take_activities()) {
      std::string bytes = records_of(one, shift_ns);
      if (!bytes.empty()) records.push_back(std::move(bytes));
    }
  }
  for (size_t at = 0; at < records.size();) at = hand_over(records, at);
  return kSuccess;
}

// `record`: the record before, null before the first.
SIM_EXPORT msptiResult msptiActivityGetNextRecord(uint8_t* buffer, size_t valid, uint8_t** record) {
  if (buffer == nullptr || record == nullptr) return refuse(__func__, "a pointer is null");
  uint8_t* next = buffer;
  if (*record != nullptr) {
    int32_t kind = 0;
    std::memcpy(&kind, *record, sizeof kind);
    next = *record + size_of(kind);
  }
  if (next >= buffer + valid) return kMaxLimit;
  *record = next;
  return kSuccess;
}

SIM_EXPORT msptiResult msptiActivityPushExternalCorrelationId(int32_t kind, uint64_t id) {
  if (kind <= 0 || kind >= kExternalKinds) return refuse(__func__, "no kind of external call");
  external_stacks[kind].push_back(id);
  return kSuccess;
}

SIM_EXPORT msptiResult msptiActivityPopExternalCorrelationId(int32_t kind, uint64_t* last) {
  if (kind <= 0 || kind >= kExternalKinds) return refuse(__func__, "no kind of external call");
  auto& stack = external_stacks[kind];
  if (stack.empty()) return kQueueEmpty;
  if (last != nullptr) *last = stack.back();
  stack.pop_back();
  return kSuccess;
}
