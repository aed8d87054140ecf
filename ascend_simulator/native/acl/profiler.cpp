// Profiling: what torch_npu.profiler asks for. A folder PROF_... appears in its folder, in it the work of the simulated
// device as it was measured on the CPU (recording.h); the stand-in msprof makes CANN's tables of it. torch_npu's own
// host-side data (operators, stacks, memory) does not pass through here.
//
// Names of folders and files: https://www.hiascend.com/document, "msprof", "profile data"; host/start_info is read by
// torch_npu/profiler/analysis/prof_parse/_cann_file_parser.py (get_localtime_diff).
#include "../recording/recording.h"
#include "runtime.h"

#include <acl/acl_prof.h>
#include <profiling/aprof_pub.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

struct aclprofConfig {
  uint64_t data_types;
  aclprofAicoreMetrics metrics;
  std::vector<uint32_t> devices;
};
struct aclprofStepInfo {};

namespace {
std::atomic<bool> initialised{false}, running{false};
std::string target;   // the folder of aclprofInit
std::string profile;  // the PROF_... folder in it, empty before the first start

uint64_t wall_clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// PROF_<number>_<time>_<letters>
std::string folder_name() {
  static std::atomic<int> number{0};
  char text[80];
  const time_t now = ::time(nullptr);
  tm parts{};
  localtime_r(&now, &parts);
  int length = std::snprintf(text, sizeof text, "PROF_%06d_", ++number);
  length += static_cast<int>(std::strftime(text + length, sizeof text - length, "%Y%m%d%H%M%S", &parts));
  std::snprintf(text + length, sizeof text - length, "%03d_SIM%dX%llX", static_cast<int>(wall_clock_ns() / 1'000'000 % 1000),
                static_cast<int>(getpid()), static_cast<unsigned long long>(wall_clock_ns() % 1'000'000'000));
  return text;
}

bool make_folder(const std::string& path) { return ::mkdir(path.c_str(), 0750) == 0; }

bool write_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  const bool good = std::fputs(text.c_str(), file) >= 0;
  return std::fclose(file) == 0 && good;
}

std::string microseconds(uint64_t ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%llu.%03d", static_cast<unsigned long long>(ns / 1000), static_cast<int>(ns % 1000));
  return text;
}

// Says whose times these are, for the stand-in msprof and for whoever opens the folder.
std::string facts(const aclprofConfig& config, uint64_t wall_ns, uint64_t raw_ns) {
  const char* name = aclrtGetSocName();
  return "{\"simulated\": true, \"device\": \"" + std::string(name) +
         " (SIMULATED)\", \"times\": \"of PyTorch's CPU kernels on this host, not of an NPU\", \"data_types\": " +
         std::to_string(config.data_types) + ", \"metrics\": " + std::to_string(config.metrics) +
         ", \"pid\": " + std::to_string(getpid()) + ", \"wall_ns\": " + std::to_string(wall_ns) +
         ", \"raw_ns\": " + std::to_string(raw_ns) + "}\n";
}

bool make_profile(const aclprofConfig& config) {
  const std::string made = target + "/" + folder_name();
  const uint64_t wall_ns = wall_clock_ns(), raw_ns = sim::record_clock_ns();
  bool good = make_folder(made) && make_folder(made + "/host") && make_folder(made + "/host/data");
  for (const uint32_t device : config.devices) {
    const std::string folder = made + "/device_" + std::to_string(device);
    good = good && make_folder(folder) && make_folder(folder + "/data");
  }
  const std::string start = "{\"collectionTimeBegin\": \"" + microseconds(wall_ns) + "\", \"clockMonotonicRaw\": \"" +
                            std::to_string(raw_ns) + "\"}\n";
  good = good && write_file(made + "/host/start_info", start) && write_file(made + "/simulated.json", facts(config, wall_ns, raw_ns));
  if (good) profile = made;
  return good;
}

// Level 0 has the bit of ACL_PROF_TASK_TIME_L0 instead (torch_npu/csrc/profiler/profiler_mgr.h).
bool wants_operands(const aclprofConfig& config) { return (config.data_types & ACL_PROF_TASK_TIME) != 0; }
}  // namespace

aclError aclprofInit(const char* path, size_t length) {
  SIM_REQUIRE(path != nullptr && length > 0, ACL_ERROR_INVALID_PARAM, "the folder is empty");
  SIM_REQUIRE(!initialised.exchange(true), ACL_ERROR_REPEAT_INITIALIZE, "called twice");
  target.assign(path, length);
  profile.clear();
  return ACL_SUCCESS;
}

aclError aclprofFinalize() {
  SIM_REQUIRE(initialised.exchange(false), ACL_ERROR_UNINITIALIZE, "called before aclprofInit");
  return sim::nothing_to_do("aclprofStop has written everything");
}

aclprofConfig* aclprofCreateConfig(uint32_t* devices, uint32_t count, aclprofAicoreMetrics metrics, const aclprofAicoreEvents*,
                                   uint64_t data_types) {
  if (devices == nullptr && count > 0) {
    sim::fail(ACL_ERROR_INVALID_PARAM, __func__, "%u devices at a null pointer", count);
    return nullptr;
  }
  return new aclprofConfig{data_types, metrics, std::vector<uint32_t>(devices, devices + count)};
}

aclError aclprofDestroyConfig(const aclprofConfig* config) {
  SIM_REQUIRE(config != nullptr, ACL_ERROR_INVALID_PARAM, "config is null");
  delete config;
  return ACL_SUCCESS;
}

aclError aclprofSetConfig(aclprofConfigType, const char* config, size_t) {
  SIM_REQUIRE(config != nullptr, ACL_ERROR_INVALID_PARAM, "config is null");
  return sim::nothing_to_do("sampling of the hardware and the host system, of which there is nothing to sample here");
}

aclError aclprofWarmup(const aclprofConfig* config) {
  SIM_REQUIRE(config != nullptr, ACL_ERROR_INVALID_PARAM, "config is null");
  return sim::nothing_to_do("recording needs no warm-up");
}

aclError aclprofStart(const aclprofConfig* config) {
  SIM_REQUIRE(config != nullptr, ACL_ERROR_INVALID_PARAM, "config is null");
  SIM_REQUIRE(initialised, ACL_ERROR_UNINITIALIZE, "called before aclprofInit");
  SIM_REQUIRE(!running.exchange(true), ACL_ERROR_PROF_ALREADY_RUN, "profiling already runs");
  if (profile.empty() && !make_profile(*config)) {
    running = false;
    SIM_FAIL(ACL_ERROR_INVALID_FILE, "cannot write to %s", target.c_str());
  }
  sim::start_recording(wants_operands(*config));
  return ACL_SUCCESS;
}

aclError aclprofStop(const aclprofConfig* config) {
  SIM_REQUIRE(config != nullptr, ACL_ERROR_INVALID_PARAM, "config is null");
  SIM_REQUIRE(running.exchange(false), ACL_ERROR_PROF_NOT_RUN, "profiling does not run");
  const std::string file = profile + "/host/data/simulated_tasks.jsonl";
  SIM_REQUIRE(sim::stop_recording(file), ACL_ERROR_INVALID_FILE, "cannot write %s", file.c_str());
  return ACL_SUCCESS;
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
