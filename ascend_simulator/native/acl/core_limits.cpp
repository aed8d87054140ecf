// Limits on how many cores a device, a stream or a thread may use: kept and given back. The CPU's kernels take no notice.
// A stream without a limit of its own has its device's, a device without one has all its cores; a thread has its device's
// unless it uses a stream's (https://www.hiascend.com/document, aclrtGetStreamResLimit, aclrtGetResInCurrentThread).
#include "runtime.h"

#include <array>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace {

using Limits = std::array<uint32_t, 2>;  // by aclrtDevResLimitType: cube cores, vector cores; 0: no limit of its own

std::mutex mutex;
auto& of_devices = *new std::map<int32_t, Limits>;
using Key = std::pair<aclrtStream, int32_t>;  // with its device: each device has a default stream, which is null
auto& of_streams = *new std::map<Key, Limits>;
thread_local aclrtStream used = nullptr;
thread_local bool uses_stream = false;

bool is_known(aclrtDevResLimitType type) { return type == ACL_RT_DEV_RES_CUBE_CORE || type == ACL_RT_DEV_RES_VECTOR_CORE; }

uint32_t all_cores(aclrtDevResLimitType type) {
  int64_t count = 0;
  aclGetDeviceCapability(0, type == ACL_RT_DEV_RES_CUBE_CORE ? ACL_DEVICE_INFO_AI_CORE_NUM : ACL_DEVICE_INFO_VECTOR_CORE_NUM, &count);
  return static_cast<uint32_t>(count);
}

aclError check(const char* function, aclrtDevResLimitType type, uint32_t value) {
  if (!is_known(type)) return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "%d is no kind of core", static_cast<int>(type));
  if (value >= 1 && value <= all_cores(type)) return ACL_SUCCESS;
  return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "%u cores: there are 1 to %u", value, all_cores(type));
}

uint32_t device_limit(int32_t device, aclrtDevResLimitType type) {
  const auto found = of_devices.find(device);
  return found != of_devices.end() && found->second[type] > 0 ? found->second[type] : all_cores(type);
}

// Made before the lock is taken: the end of a stream takes the locks in the other order.
Key key_of(aclrtStream stream) { return {stream, sim::device_of_stream(stream)}; }

uint32_t stream_limit(const Key& key, aclrtDevResLimitType type) {
  const auto found = of_streams.find(key);
  return found != of_streams.end() && found->second[type] > 0 ? found->second[type] : device_limit(key.second, type);
}

}  // namespace

namespace sim {

void forget_core_limits(aclrtStream stream) {
  if (used == stream) uses_stream = false;
  std::lock_guard<std::mutex> lock(mutex);
  for (auto each = of_streams.begin(); each != of_streams.end();) {
    each = each->first.first == stream ? of_streams.erase(each) : std::next(each);
  }
}

}  // namespace sim

aclError aclrtGetDeviceResLimit(int32_t device, aclrtDevResLimitType type, uint32_t* value) {
  SIM_REQUIRE(sim::valid_device(device), ACL_ERROR_RT_INVALID_DEVICEID, "device %d", device);
  SIM_REQUIRE(is_known(type), ACL_ERROR_RT_PARAM_INVALID, "%d is no kind of core", static_cast<int>(type));
  std::lock_guard<std::mutex> lock(mutex);
  return sim::tell(__func__, "value", value, device_limit(device, type));
}

aclError aclrtSetDeviceResLimit(int32_t device, aclrtDevResLimitType type, uint32_t value) {
  SIM_REQUIRE(sim::valid_device(device), ACL_ERROR_RT_INVALID_DEVICEID, "device %d", device);
  if (const aclError code = check(__func__, type, value)) return code;
  std::lock_guard<std::mutex> lock(mutex);
  of_devices[device][type] = value;
  return ACL_SUCCESS;
}

aclError aclrtResetDeviceResLimit(int32_t device) {
  SIM_REQUIRE(sim::valid_device(device), ACL_ERROR_RT_INVALID_DEVICEID, "device %d", device);
  std::lock_guard<std::mutex> lock(mutex);
  of_devices.erase(device);
  return ACL_SUCCESS;
}

aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t* value) {
  SIM_CHECK_STREAM(stream);
  SIM_REQUIRE(is_known(type), ACL_ERROR_RT_PARAM_INVALID, "%d is no kind of core", static_cast<int>(type));
  const Key key = key_of(stream);
  std::lock_guard<std::mutex> lock(mutex);
  return sim::tell(__func__, "value", value, stream_limit(key, type));
}

aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) {
  SIM_CHECK_STREAM(stream);
  if (const aclError code = check(__func__, type, value)) return code;
  const Key key = key_of(stream);
  std::lock_guard<std::mutex> lock(mutex);
  of_streams[key][type] = value;
  return ACL_SUCCESS;
}

aclError aclrtResetStreamResLimit(aclrtStream stream) {
  SIM_CHECK_STREAM(stream);
  const Key key = key_of(stream);
  std::lock_guard<std::mutex> lock(mutex);
  of_streams.erase(key);
  return ACL_SUCCESS;
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
  SIM_CHECK_STREAM(stream);
  used = stream;
  uses_stream = true;
  return ACL_SUCCESS;
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
  SIM_CHECK_STREAM(stream);
  uses_stream = false;
  return ACL_SUCCESS;
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  SIM_REQUIRE(is_known(type), ACL_ERROR_RT_PARAM_INVALID, "%d is no kind of core", static_cast<int>(type));
  const Key key = key_of(used);
  std::lock_guard<std::mutex> lock(mutex);
  const uint32_t limit = uses_stream ? stream_limit(key, type) : device_limit(sim::current_device(), type);
  return sim::tell(__func__, "value", value, limit);
}
