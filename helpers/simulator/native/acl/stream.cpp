// Streams. Work is done in the order in which it is issued, all streams together, before each call returns:
// a program that orders its streams rightly sees the values it must, and a stream is always idle when asked.
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

std::unordered_map<aclrtStream, Stream*>& streams() {
  static auto* all = new std::unordered_map<aclrtStream, Stream*>;  // outlives static destructors of torch_npu
  return *all;
}

// A null stream is the device's default stream.
Stream* find(aclrtStream stream) {
  static Stream standard{0, 0, 0, 0, 0};
  if (stream == nullptr) return &standard;
  const auto found = streams().find(stream);
  return found == streams().end() ? nullptr : found->second;
}

aclError create(const char* function, aclrtStream* stream, uint32_t priority, uint32_t flags) {
  if (stream == nullptr) return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "stream is null");
  if (sim::current_device() < 0) return sim::fail(ACL_ERROR_RT_CONTEXT_NULL, function, "this thread has set no device");
  std::lock_guard<std::mutex> lock(mutex);
  auto* made = new Stream{next_id++, sim::current_device(), priority, flags, 0};
  streams()[made] = made;
  *stream = made;
  return ACL_SUCCESS;
}

aclError destroy(const char* function, aclrtStream stream) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = streams().find(stream);
  if (found == streams().end()) return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "%p is no stream", stream);
  delete found->second;
  streams().erase(found);
  return ACL_SUCCESS;
}

}  // namespace

namespace sim {

aclError check_stream(const char* function, aclrtStream stream) {
  std::lock_guard<std::mutex> lock(mutex);
  return find(stream) != nullptr ? ACL_SUCCESS : fail(ACL_ERROR_RT_PARAM_INVALID, function, "%p is no stream", stream);
}

}  // namespace sim

#define SIM_CHECK_STREAM(stream) \
  if (aclError code = sim::check_stream(__func__, stream)) return code

aclError aclrtCreateStream(aclrtStream* stream) { return create(__func__, stream, 0, 0); }

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flags) {
  return create(__func__, stream, priority, flags);
}

aclError aclrtDestroyStream(aclrtStream stream) { return destroy(__func__, stream); }
aclError aclrtDestroyStreamForce(aclrtStream stream) { return destroy(__func__, stream); }

aclError aclrtSynchronizeStream(aclrtStream stream) {
  SIM_CHECK_STREAM(stream);
  return sim::check_tasks();  // work is done when its call returns
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t) {
  SIM_CHECK_STREAM(stream);
  return sim::check_tasks();  // work is done when its call returns
}

aclError aclrtSynchronizeDevice() {
  SIM_REQUIRE(sim::current_device() >= 0, ACL_ERROR_RT_CONTEXT_NULL, "this thread has set no device");
  return sim::check_tasks();  // work is done when its call returns
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t) {
  SIM_REQUIRE(sim::current_device() >= 0, ACL_ERROR_RT_CONTEXT_NULL, "this thread has set no device");
  return sim::check_tasks();  // work is done when its call returns
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  SIM_CHECK_STREAM(stream);
  SIM_REQUIRE(status != nullptr, ACL_ERROR_RT_PARAM_INVALID, "status is null");
  *status = ACL_STREAM_STATUS_COMPLETE;
  return ACL_SUCCESS;
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* id) {
  SIM_REQUIRE(id != nullptr, ACL_ERROR_RT_PARAM_INVALID, "streamId is null");
  std::lock_guard<std::mutex> lock(mutex);
  const Stream* found = find(stream);
  SIM_REQUIRE(found != nullptr, ACL_ERROR_RT_PARAM_INVALID, "%p is no stream", stream);
  *id = found->id;
  return ACL_SUCCESS;
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t) {
  SIM_CHECK_STREAM(stream);
  return sim::nothing_to_do("tells what becomes of later tasks after one fails; here a failing call returns its error");
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t value) {
  std::lock_guard<std::mutex> lock(mutex);
  Stream* found = find(stream);
  SIM_REQUIRE(found != nullptr, ACL_ERROR_RT_PARAM_INVALID, "%p is no stream", stream);
  found->overflow_switch = value;
  return ACL_SUCCESS;
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* value) {
  SIM_REQUIRE(value != nullptr, ACL_ERROR_RT_PARAM_INVALID, "flag is null");
  std::lock_guard<std::mutex> lock(mutex);
  const Stream* found = find(stream);
  SIM_REQUIRE(found != nullptr, ACL_ERROR_RT_PARAM_INVALID, "%p is no stream", stream);
  *value = found->overflow_switch;
  return ACL_SUCCESS;
}
