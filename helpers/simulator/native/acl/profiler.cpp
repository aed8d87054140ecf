// Profiling: the calls that torch_npu.profiler makes are accepted and checked, and no device-side data is collected,
// because there is no device. torch_npu's own host-side data (operators, stacks, memory) does not pass through here.
#include "runtime.h"

#include <acl/acl_prof.h>
#include <profiling/aprof_pub.h>

#include <atomic>
#include <cstdint>
#include <string_view>

struct aclprofConfig {
  uint64_t data_types;
};
struct aclprofStepInfo {};

namespace {
std::atomic<bool> initialised{false}, running{false};
constexpr const char* kNoDevice = "starts the collection of device-side data; there is no device, and no such file is made";
}  // namespace

aclError aclprofInit(const char* path, size_t length) {
  SIM_REQUIRE(path != nullptr && length > 0, ACL_ERROR_INVALID_PARAM, "the folder is empty");
  SIM_REQUIRE(!initialised.exchange(true), ACL_ERROR_REPEAT_INITIALIZE, "called twice");
  return sim::nothing_to_do(kNoDevice);
}

aclError aclprofFinalize() {
  SIM_REQUIRE(initialised.exchange(false), ACL_ERROR_UNINITIALIZE, "called before aclprofInit");
  return sim::nothing_to_do(kNoDevice);
}

aclprofConfig* aclprofCreateConfig(uint32_t* devices, uint32_t count, aclprofAicoreMetrics, const aclprofAicoreEvents*,
                                   uint64_t data_types) {
  if (devices == nullptr && count > 0) {
    sim::fail(ACL_ERROR_INVALID_PARAM, __func__, "%u devices at a null pointer", count);
    return nullptr;
  }
  return new aclprofConfig{data_types};
}

aclError aclprofDestroyConfig(const aclprofConfig* config) {
  SIM_REQUIRE(config != nullptr, ACL_ERROR_INVALID_PARAM, "config is null");
  delete config;
  return ACL_SUCCESS;
}

aclError aclprofSetConfig(aclprofConfigType, const char* config, size_t) {
  SIM_REQUIRE(config != nullptr, ACL_ERROR_INVALID_PARAM, "config is null");
  return sim::nothing_to_do("options of device-side collection, which does not take place");
}

aclError aclprofWarmup(const aclprofConfig* config) {
  SIM_REQUIRE(config != nullptr, ACL_ERROR_INVALID_PARAM, "config is null");
  return sim::nothing_to_do(kNoDevice);
}

aclError aclprofStart(const aclprofConfig* config) {
  SIM_REQUIRE(config != nullptr, ACL_ERROR_INVALID_PARAM, "config is null");
  SIM_REQUIRE(!running.exchange(true), ACL_ERROR_PROF_ALREADY_RUN, "profiling already runs");
  return sim::nothing_to_do(kNoDevice);
}

aclError aclprofStop(const aclprofConfig* config) {
  SIM_REQUIRE(config != nullptr, ACL_ERROR_INVALID_PARAM, "config is null");
  SIM_REQUIRE(running.exchange(false), ACL_ERROR_PROF_NOT_RUN, "profiling does not run");
  return sim::nothing_to_do(kNoDevice);
}

aclprofStepInfo* aclprofCreateStepInfo() { return new aclprofStepInfo; }
void aclprofDestroyStepInfo(aclprofStepInfo* info) { delete info; }

aclError aclprofGetStepTimestamp(aclprofStepInfo* info, aclprofStepTag, aclrtStream stream) {
  SIM_REQUIRE(info != nullptr, ACL_ERROR_INVALID_PARAM, "the step is null");
  if (aclError code = sim::check_stream(__func__, stream)) return code;
  return sim::nothing_to_do("asks the device for a time stamp of the step in device-side data");
}

// The functions below hand host-side events of CANN to its profiler. They are dropped: they would describe the road
// through CANN, which is not taken here.
int32_t MsprofRegisterCallback(uint32_t, ProfCommandHandle handle) {
  SIM_REQUIRE(handle != nullptr, ACL_ERROR_INVALID_PARAM, "the callback is null");
  return sim::nothing_to_do("is called back when CANN's own profiler starts, which it never does");
}

int32_t MsprofReportApi(uint32_t, const MsprofApi* api) {
  SIM_REQUIRE(api != nullptr, ACL_ERROR_INVALID_PARAM, "api is null");
  return sim::nothing_to_do("host-side events of CANN are not collected");
}

int32_t MsprofReportCompactInfo(uint32_t, const VOID_PTR data, uint32_t) {
  SIM_REQUIRE(data != nullptr, ACL_ERROR_INVALID_PARAM, "data is null");
  return sim::nothing_to_do("host-side events of CANN are not collected");
}

int32_t MsprofReportAdditionalInfo(uint32_t, const VOID_PTR data, uint32_t) {
  SIM_REQUIRE(data != nullptr, ACL_ERROR_INVALID_PARAM, "data is null");
  return sim::nothing_to_do("host-side events of CANN are not collected");
}

// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): a number for a name, the same for the same name.
uint64_t MsprofGetHashId(const char* text, size_t length) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  if (text == nullptr) return 0;
  for (const char letter : std::string_view(text, length)) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  return hash;
}

uint64_t MsprofSysCycleTime() { return static_cast<uint64_t>(sim::now_ms() * 1e6); }
