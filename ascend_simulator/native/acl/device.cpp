// Devices, contexts and what a program may ask about them.
#include "runtime.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr int kMaxDevices = 64;
thread_local int device_of_thread = -1;
std::atomic<int> default_device{-1};  // of threads that set none, where aclInit's file names one

long number_from(const char* name, long otherwise, long least, long most) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text, &end, 10);
  if (errno == 0 && *end == '\0' && value >= least && value <= most) return value;
  std::fprintf(stderr, "[simulated NPU] %s=%s: expected a whole number from %ld to %ld\n", name, text, least, most);
  std::exit(2);
}

// ASCEND_RT_VISIBLE_DEVICES: "0,2" takes these; as in CANN, what follows the first entry that is no device is not
// seen (https://www.hiascend.com/document, environment variable reference, ASCEND_RT_VISIBLE_DEVICES).
std::vector<int> visible_devices() {
  const int all = static_cast<int>(number_from("ASCEND_WORKBOOK_SIM_DEVICES", 2, 1, kMaxDevices));
  std::vector<int> devices;
  const char* told = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
  if (told == nullptr) {
    for (int device = 0; device < all; ++device) devices.push_back(device);
    return devices;
  }
  for (const char* at = told; *at != '\0';) {
    char* end = nullptr;
    const long device = std::strtol(at, &end, 10);
    const bool known = end != at && device >= 0 && device < all;
    if (!known || std::count(devices.begin(), devices.end(), device) > 0) break;
    devices.push_back(static_cast<int>(device));
    at = *end == ',' ? end + 1 : end;
    if (*end != ',' && *end != '\0') break;
  }
  return devices;
}

const std::vector<int>& devices() {
  static const std::vector<int> found = visible_devices();
  return found;
}

// The host's memory, or the container's limit where that is less (cgroup v2, then v1).
size_t host_memory() {
  size_t bytes = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    size_t limit = 0;
    if (std::ifstream(path) >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

// The numbers of an Ascend 910B2: 24 cube and 48 vector cores, 192 MiB of L2
// (CANN's platform_config/Ascend910B2.ini, also printed by torch.npu.get_device_properties on such a card).
constexpr int64_t kCubeCores = 24, kVectorCores = 48, kL2Bytes = 192LL << 20;

}  // namespace

namespace sim {

int device_count() { return static_cast<int>(devices().size()); }
bool valid_device(int device) { return device >= 0 && device < device_count(); }
int current_device() { return device_of_thread >= 0 ? device_of_thread : default_device.load(); }
void set_default_device(int device) { default_device = device; }

// Half of the host's memory, shared by the devices, unless ASCEND_WORKBOOK_SIM_MEMORY_MIB names the MiB of each.
size_t device_memory() {
  static const size_t bytes = [] {
    const long mib = number_from("ASCEND_WORKBOOK_SIM_MEMORY_MIB", 0, 1, 1L << 24);
    const size_t shared = host_memory() / 2 / std::max(device_count(), 1) >> 20;
    return (mib > 0 ? static_cast<size_t>(mib) : std::max<size_t>(shared, 64)) << 20;
  }();
  return bytes;
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace sim

using sim::valid_device;

aclError aclrtGetDeviceCount(uint32_t* count) {
  SIM_REQUIRE(count != nullptr, ACL_ERROR_RT_PARAM_INVALID, "count is null");
  *count = static_cast<uint32_t>(sim::device_count());
  SIM_REQUIRE(*count > 0, ACL_ERROR_RT_NO_DEVICE, "ASCEND_RT_VISIBLE_DEVICES=%s leaves no device",
              std::getenv("ASCEND_RT_VISIBLE_DEVICES"));
  return ACL_SUCCESS;
}

aclError aclrtSetDevice(int32_t device) {
  SIM_REQUIRE(valid_device(device), ACL_ERROR_RT_INVALID_DEVICEID, "device %d: expected 0 to %d", device,
              sim::device_count() - 1);
  device_of_thread = device;
  return ACL_SUCCESS;
}

aclError aclrtGetDevice(int32_t* device) {
  SIM_REQUIRE(sim::current_device() >= 0, ACL_ERROR_RT_CONTEXT_NULL, "this thread has set no device");
  return sim::tell(__func__, "device", device, sim::current_device());
}

aclError aclrtResetDevice(int32_t device) {
  SIM_REQUIRE(valid_device(device), ACL_ERROR_RT_INVALID_DEVICEID, "device %d", device);
  if (device_of_thread == device) device_of_thread = -1;
  return ACL_SUCCESS;
}

// One context a device: the handle is the device's number plus one, so that it is never null.
aclError aclrtGetCurrentContext(aclrtContext* context) {
  SIM_REQUIRE(context != nullptr, ACL_ERROR_RT_PARAM_INVALID, "context is null");
  SIM_REQUIRE(sim::current_device() >= 0, ACL_ERROR_RT_CONTEXT_NULL, "this thread has set no device");
  *context = reinterpret_cast<aclrtContext>(static_cast<intptr_t>(sim::current_device()) + 1);
  return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  const intptr_t device = reinterpret_cast<intptr_t>(context) - 1;
  SIM_REQUIRE(device >= 0 && device < sim::device_count(), ACL_ERROR_RT_CONTEXT_NULL, "%p is no context", context);
  device_of_thread = static_cast<int>(device);
  return ACL_SUCCESS;
}

aclError aclrtGetPrimaryCtxState(int32_t device, uint32_t* flags, int32_t* active) {
  SIM_REQUIRE(valid_device(device), ACL_ERROR_RT_INVALID_DEVICEID, "device %d", device);
  if (flags != nullptr) *flags = 0;
  return sim::tell(__func__, "active", active, device == sim::current_device());
}

aclError aclrtGetRunMode(aclrtRunMode* mode) {
  return sim::tell(__func__, "mode", mode, ACL_HOST);
}

const char* aclrtGetSocName() {
  const char* told = std::getenv("ASCEND_WORKBOOK_SIM_SOC");
  return told != nullptr && *told != '\0' ? told : "Ascend910B2";
}

aclError aclGetDeviceCapability(uint32_t device, aclDeviceInfo info, int64_t* value) {
  SIM_REQUIRE(valid_device(static_cast<int>(device)), ACL_ERROR_RT_INVALID_DEVICEID, "device %u", device);
  switch (info) {
    case ACL_DEVICE_INFO_AI_CORE_NUM: return sim::tell(__func__, "value", value, kCubeCores);
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM: return sim::tell(__func__, "value", value, kVectorCores);
    case ACL_DEVICE_INFO_L2_SIZE: return sim::tell(__func__, "value", value, kL2Bytes);
    default: SIM_FAIL(ACL_ERROR_API_NOT_SUPPORT, "the simulator does not know device info %d", info);
  }
}

aclError aclrtGetDeviceInfo(uint32_t device, aclrtDevAttr attribute, int64_t* value) {
  SIM_REQUIRE(valid_device(static_cast<int>(device)), ACL_ERROR_RT_INVALID_DEVICEID, "device %u", device);
  switch (attribute) {
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM: return sim::tell(__func__, "value", value, kCubeCores);
    case ACL_DEV_ATTR_VECTOR_CORE_NUM: return sim::tell(__func__, "value", value, kVectorCores);
    case ACL_DEV_ATTR_L2_CACHE_SIZE: return sim::tell(__func__, "value", value, kL2Bytes);
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE: return sim::tell(__func__, "value", value, sim::device_memory());
    case ACL_DEV_ATTR_IS_VIRTUAL: return sim::tell(__func__, "value", value, 0);
    default: SIM_FAIL(ACL_ERROR_API_NOT_SUPPORT, "the simulator does not know device attribute %d", attribute);
  }
}

// "simulated-npu-" and the device's two digits: recognisable, and different for each device.
aclError aclrtDeviceGetUuid(int32_t device, aclrtUuid* uuid) {
  SIM_REQUIRE(valid_device(device), ACL_ERROR_RT_INVALID_DEVICEID, "device %d", device);
  SIM_REQUIRE(uuid != nullptr, ACL_ERROR_RT_PARAM_INVALID, "uuid is null");
  char text[32];
  std::snprintf(text, sizeof text, "simulated-npu-%02d", devices()[device]);
  std::memcpy(uuid->bytes, text, sizeof uuid->bytes);
  return ACL_SUCCESS;
}

aclError aclrtGetLogicDevIdByUserDevId(const int32_t user, int32_t* const logic) {
  SIM_REQUIRE(valid_device(user), ACL_ERROR_RT_INVALID_DEVICEID, "device %d", user);
  return sim::tell(__func__, "logicDevId", logic, devices()[user]);
}

// All devices are one host's memory, so that each reaches each other one.
aclError aclrtDeviceCanAccessPeer(int32_t* can, int32_t device, int32_t peer) {
  SIM_REQUIRE(valid_device(device) && valid_device(peer), ACL_ERROR_RT_INVALID_DEVICEID, "devices %d, %d", device, peer);
  return sim::tell(__func__, "canAccessPeer", can, device != peer);
}

aclError aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t flags) {
  SIM_REQUIRE(valid_device(peer) && peer != sim::current_device(), ACL_ERROR_RT_INVALID_DEVICEID, "peer device %d", peer);
  SIM_REQUIRE(flags == 0, ACL_ERROR_RT_PARAM_INVALID, "flags %u: expected 0", flags);
  return sim::nothing_to_do("every device's memory is host memory that every thread can reach already");
}

// -1: not supported, as torch_npu reads it (torch_npu/csrc/npu/Module.cpp); there are no cores that could be busy.
aclError aclrtGetDeviceUtilizationRate(int32_t device, aclrtUtilizationInfo* info) {
  SIM_REQUIRE(valid_device(device), ACL_ERROR_RT_INVALID_DEVICEID, "device %d", device);
  SIM_REQUIRE(info != nullptr, ACL_ERROR_RT_PARAM_INVALID, "utilizationInfo is null");
  info->cubeUtilization = info->vectorUtilization = info->aicpuUtilization = info->memoryUtilization = -1;
  return ACL_SUCCESS;
}

// Outside of a container the two process numbers are the same; inside, only a driver could tell.
aclError aclrtDeviceGetBareTgid(int32_t* pid) {
  return sim::tell(__func__, "pid", pid, getpid());
}
