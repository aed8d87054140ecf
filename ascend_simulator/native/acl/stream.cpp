// Streams. Work is done in the order in which it is issued, all streams together, before each call returns:
// a program that orders its streams rightly sees the values it must, and a stream is always idle when asked.
#include "../recording/graphs.h"
#include "../recording/recording.h"
#include "runtime.h"

#include <mutex>
#include <unordered_map>

namespace {

struct Stream {
  int32_t id;
  int device;
  uint32_t priority, flags, overflow_switch;
};

std::mutex mutex;
int32_t next_id = 1;

auto& streams = *new std::unordered_map<aclrtStream, Stream*>;  // outlives static destructors of torch_npu

// A null stream is the device's default stream.
Stream* find(aclrtStream stream) {
  static Stream standard{0, 0, 0, 0, 0};
  if (stream == nullptr) return &standard;
  const auto found = streams.find(stream);
  return found == streams.end() ? nullptr : found->second;
}

aclError create(const char* function, aclrtStream* stream, uint32_t priority, uint32_t flags) {
  if (stream == nullptr) return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "stream is null");
  if (sim::current_device() < 0) return sim::fail(ACL_ERROR_RT_CONTEXT_NULL, function, "this thread has set no device");
  std::lock_guard<std::mutex> lock(mutex);
  auto* made = new Stream{next_id++, sim::current_device(), priority, flags, 0};
  streams[made] = made;
  *stream = made;
  return ACL_SUCCESS;
}

aclError destroy(const char* function, aclrtStream stream) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = streams.find(stream);
  if (found == streams.end()) return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "%p is no stream", stream);
  sim::forget_core_limits(stream);
  delete found->second;
  streams.erase(found);
  return ACL_SUCCESS;
}

}  // namespace

namespace sim {

aclError check_stream(const char* function, aclrtStream stream) {
  std::lock_guard<std::mutex> lock(mutex);
  return find(stream) != nullptr ? ACL_SUCCESS : fail(ACL_ERROR_RT_PARAM_INVALID, function, "%p is no stream", stream);
}

int device_of_stream(aclrtStream stream) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = streams.find(stream);
  return found == streams.end() ? current_device() : found->second->device;
}

}  // namespace sim

#define SIM_FIND_STREAM(name, stream)             \
  std::lock_guard<std::mutex> lock_##name(mutex); \
  Stream* name = find(stream);                    \
  SIM_REQUIRE(name != nullptr, ACL_ERROR_RT_PARAM_INVALID, "%p is no stream", stream)

aclError aclrtCreateStream(aclrtStream* stream) { return create(__func__, stream, 0, 0); }

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flags) {
  return create(__func__, stream, priority, flags);
}

aclError aclrtDestroyStream(aclrtStream stream) { return destroy(__func__, stream); }
aclError aclrtDestroyStreamForce(aclrtStream stream) { return destroy(__func__, stream); }

namespace {

// Notes that the host waited until a stream, or every one, was done.
aclError wait_on_host(int32_t stream) {
  if (sim::recording()) sim::record_order(sim::Task::host_wait, stream, 0);
  return sim::check_tasks();
}

}  // namespace

// Work is done when its call returns, so that what waits, with or without a limit, only asks for the task that failed.
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t) {
  SIM_CHECK_STREAM(stream);
  if (const int code = sim::refuse_wait(__func__, stream)) return code;
  return wait_on_host(sim::stream_number(stream));
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t) {
  SIM_REQUIRE(sim::current_device() >= 0, ACL_ERROR_RT_CONTEXT_NULL, "this thread has set no device");
  if (const int code = sim::refuse_blocking(__func__)) return code;
  return wait_on_host(sim::every_stream);
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  SIM_CHECK_STREAM(stream);
  if (const int code = sim::refuse_wait(__func__, stream)) return code;
  return wait_on_host(sim::stream_number(stream));
}

aclError aclrtSynchronizeDevice() {
  SIM_REQUIRE(sim::current_device() >= 0, ACL_ERROR_RT_CONTEXT_NULL, "this thread has set no device");
  if (const int code = sim::refuse_blocking(__func__)) return code;
  return wait_on_host(sim::every_stream);
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  SIM_CHECK_STREAM(stream);
  if (const int code = sim::refuse_wait(__func__, stream)) return code;
  return sim::tell(__func__, "status", status, ACL_STREAM_STATUS_COMPLETE);
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* id) {
  SIM_FIND_STREAM(found, stream);
  return sim::tell(__func__, "streamId", id, found->id);
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t) {
  SIM_CHECK_STREAM(stream);
  return sim::nothing_to_do("tells what becomes of later tasks after one fails; here a failing call returns its error");
}

// Of the attributes CANN's profiler, a graph's report of shapes and the order of waiting work ask: nothing of it is here.
aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr attribute, aclrtStreamAttrValue* value) {
  SIM_CHECK_STREAM(stream);
  SIM_REQUIRE(value != nullptr, ACL_ERROR_RT_PARAM_INVALID, "value is null");
  SIM_REQUIRE(attribute >= ACL_STREAM_ATTR_FAILURE_MODE && attribute <= ACL_STREAM_ATTR_PRIORITY,
              ACL_ERROR_RT_PARAM_INVALID, "%d is no attribute of a stream", static_cast<int>(attribute));
  if (attribute == ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK) return aclrtSetStreamOverflowSwitch(stream, value->overflowSwitch);
  return sim::nothing_to_do("a failing call returns its error, work is done when it is issued, and no shapes are cached");
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t value) {
  SIM_FIND_STREAM(found, stream);
  SIM_REQUIRE(found != nullptr, ACL_ERROR_RT_PARAM_INVALID, "%p is no stream", stream);
  found->overflow_switch = value;
  return ACL_SUCCESS;
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* value) {
  SIM_FIND_STREAM(found, stream);
  return sim::tell(__func__, "flag", value, found->overflow_switch);
}
