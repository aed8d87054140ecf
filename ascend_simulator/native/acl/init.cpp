// Start and end: aclInit checks that the build fits the torch in this process, then loads the operators.
#include "runtime.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "../python/loading.h"
#include "../shapes_only/contents.h"
#include "configuration.h"

#if !defined(SIM_TORCH_VERSION) || !defined(SIM_TORCH_NPU_VERSION) || !defined(SIM_REBUILD)
#error "the build gives SIM_TORCH_VERSION, SIM_TORCH_NPU_VERSION and SIM_REBUILD"
#endif

namespace {

std::atomic<bool> initialised{false};

// The folder above lib/ of a loaded library: ".../torch" for libtorch_cpu.so.
std::string package_of(const char* library) {
  struct Search {
    const char* name;
    std::string found;
  } search{library, ""};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* wanted = static_cast<Search*>(data);
        const char* base = std::strrchr(info->dlpi_name, '/');
        if (base == nullptr || std::strcmp(base + 1, wanted->name) != 0) return 0;
        wanted->found = info->dlpi_name;
        return 1;
      },
      &search);
  const size_t end = search.found.rfind("/lib/");
  return end == std::string::npos ? "" : search.found.substr(0, end);
}

// `__version__ = '2.13.0+cpu'` of the package's version.py; empty where there is none.
std::string version_of(const std::string& package) {
  std::ifstream file(package + "/version.py");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("__version__", 0) != 0) continue;
    const size_t begin = line.find_first_of("'\""), end = line.find_last_of("'\"");
    if (begin != std::string::npos && end > begin) return line.substr(begin + 1, end - begin - 1);
  }
  return "";
}

aclError check_build(const char* function) {
  const struct {
    const char *name, *library, *built;
  } parts[] = {{"torch", "libtorch_cpu.so", SIM_TORCH_VERSION}, {"torch_npu", "libtorch_npu.so", SIM_TORCH_NPU_VERSION}};
  for (const auto& part : parts) {
    const std::string package = package_of(part.library);
    const std::string loaded = version_of(package);
    if (package.empty() || loaded == part.built) continue;  // a C program without torch may use the runtime alone
    return sim::fail(ACL_ERROR_RT_INTERNAL_ERROR, function,
                     "the simulator was built for %s %s, this process has %s %s. Build it anew: %s", part.name, part.built,
                     part.name, loaded.c_str(), SIM_REBUILD);
  }
  return ACL_SUCCESS;
}

std::string beside_this_library(const char* name) {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&package_of), &info);
  const std::string here = info.dli_fname == nullptr ? "" : info.dli_fname;
  return here.substr(0, here.rfind('/') + 1) + name;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_simulated(const std::string& root) {
  std::ifstream file(root + "/version.cfg");
  for (std::string line; std::getline(file, line);) {
    if (line == "simulated=true") return true;
  }
  return false;
}

bool is_real(const std::string& path) { return !path.empty() && access(path.c_str(), F_OK) == 0 && !is_simulated(path); }

// The path that shows a real CANN or driver on this machine: ASCEND_HOME_PATH, or one that real_signs.txt names in the
// folder above `libraries`. Empty where there is none, or where ASCEND_WORKBOOK_SIM_FORCE=1.
std::string real_cann(const std::string& libraries) {
  if (variable("ASCEND_WORKBOOK_SIM_FORCE") == "1") return "";
  const std::string told = variable("ASCEND_HOME_PATH");
  if (told[0] == '/' && is_real(told)) return told;
  std::ifstream signs(libraries + "/../real_signs.txt");
  for (std::string sign; std::getline(signs, sign);) {
    if (sign.rfind("~/", 0) == 0) sign = variable("HOME") + sign.substr(1);
    if (is_real(sign)) return sign;
  }
  return "";
}

// The simulator never stands before a real CANN.
aclError check_no_real_cann(const char* function) {
  const std::string real = real_cann(beside_this_library(""));
  if (real.empty()) return ACL_SUCCESS;
  std::fprintf(stderr, "[simulated NPU] a real CANN or driver is here (%s): the simulator stays out of its way. To use it all "
               "the same: ASCEND_WORKBOOK_SIM_FORCE=1\n", real.c_str());
  return sim::fail(ACL_ERROR_RT_INTERNAL_ERROR, function, "a real CANN or driver is here: %s", real.c_str());
}

// A model may be built on the CPU before any device is used: in a run of shapes only its weights are reserved as the
// device's are, from the moment on that torch_npu is loaded. Python's own next step calls this.
int start_shapes_only(void*) {
  void* library = dlopen(beside_this_library("libnpu_sim_kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  auto* start = library == nullptr ? nullptr : reinterpret_cast<int (*)()>(dlsym(library, "npu_sim_start_shapes_only"));
  if (start == nullptr) std::fprintf(stderr, "[simulated NPU] %s. Build it anew: %s\n", dlerror(), SIM_REBUILD);
  if (start == nullptr || start() != 0) _exit(2);  // an exception would end in torch_npu's start, as a crash
  return 0;
}

// torchair may be imported before any device is used, and needs its stand-ins then.
int start_graph_engine(void*) {
  const std::string folder = beside_this_library("../graph_engine");
  auto* run = reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "PyRun_SimpleString"));
  if (run == nullptr || access(folder.c_str(), F_OK) != 0) return 0;  // torchair then says what it does not find
  if (run(sim::loading_code("graph_engine", folder, "starting", "start").c_str()) != 0) {  // Python has printed why
    std::fprintf(stderr, "[simulated NPU] torchair cannot be used. Build it anew: %s\n", SIM_REBUILD);
  }
  return 0;
}

__attribute__((constructor)) void start_with_python() {
  auto* add = reinterpret_cast<int (*)(int (*)(void*), void*)>(dlsym(RTLD_DEFAULT, "Py_AddPendingCall"));
  if (add == nullptr) return;
  if (sim::shapes_only()) add(&start_shapes_only, nullptr);
  add(&start_graph_engine, nullptr);
}

aclError load_operators(const char* function) {
  if (package_of("libtorch_cpu.so").empty()) return ACL_SUCCESS;
  void* library = dlopen(beside_this_library("libnpu_sim_kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return sim::fail(ACL_ERROR_RT_INTERNAL_ERROR, function, "%s. Build it anew: %s", dlerror(), SIM_REBUILD);
  auto* install = reinterpret_cast<int (*)()>(dlsym(library, "npu_sim_install"));
  if (install == nullptr) return sim::fail(ACL_ERROR_RT_INTERNAL_ERROR, function, "%s", dlerror());
  if (install() == 0) return ACL_SUCCESS;
  return sim::fail(ACL_ERROR_RT_INTERNAL_ERROR, function, "the operators could not be registered (see above)");
}

// torch_npu gives its own file, which it looks for beside torch; where it lies elsewhere, as beside the simulator, torch_npu
// gives none, and the file is beside its library. Another caller's silence means no file.
aclError read_file_of(const void* caller, const char* told, const char* function, sim::Configuration* read) {
  if (told != nullptr && *told != '\0') return sim::read_configuration(function, told, read);
  const std::string package = package_of("libtorch_npu.so");
  Dl_info info{};
  if (package.empty() || dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return ACL_SUCCESS;
  if (package + "/lib/libtorch_npu.so" != info.dli_fname) return ACL_SUCCESS;
  const std::string file = package + "/acl_default.json";
  return access(file.c_str(), F_OK) == 0 ? sim::read_configuration(function, file, read) : ACL_SUCCESS;
}

}  // namespace

aclError aclInit(const char* configuration) {
  SIM_REQUIRE(!initialised.exchange(true), ACL_ERROR_REPEAT_INITIALIZE, "called twice");
  const double started_ms = sim::now_ms();
  const void* caller = __builtin_return_address(0);
  aclError code = check_no_real_cann(__func__);
  if (code == ACL_SUCCESS) code = check_build(__func__);
  sim::Configuration read;
  if (code == ACL_SUCCESS) code = read_file_of(caller, configuration, __func__, &read);
  if (code == ACL_SUCCESS) code = load_operators(__func__);
  if (code == ACL_SUCCESS) sim::set_default_device(read.default_device);
  if (code != ACL_SUCCESS) initialised = false;
  if (std::getenv("ASCEND_WORKBOOK_SIM_TIMES") != nullptr) {
    std::fprintf(stderr, "[simulated NPU] aclInit took %.1f ms\n", sim::now_ms() - started_ms);
  }
  return code;
}

namespace sim {
// For the module `acl`, whose models are Python's and are refused outside aclInit and aclFinalize.
SIM_SHARED bool is_initialised() { return initialised; }
}  // namespace sim

// Memory and streams stay valid until the process ends: torch_npu frees some from static destructors after this call.
aclError aclFinalize() {
  SIM_REQUIRE(initialised.exchange(false), ACL_ERROR_UNINITIALIZE, "called before aclInit");
  sim::set_default_device(-1);
  return sim::nothing_to_do("the process ends; nothing but its own memory is held");
}
