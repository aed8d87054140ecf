// Options of the compiler and the runtime: kept and given back. None changes a value that a CPU kernel computes.
#include "runtime.h"

#include <acl/acl_op_compiler.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {
std::mutex mutex;

template <class Key, class Value>
std::map<Key, Value>& kept() {
  static auto* all = new std::map<Key, Value>;
  return *all;
}

// CANN's value where nobody has set one: "allow_fp32_to_fp16" for the precision mode of a training card.
std::string compile_option(aclCompileOpt option) {
  const auto found = kept<aclCompileOpt, std::string>().find(option);
  if (found != kept<aclCompileOpt, std::string>().end()) return found->second;
  return option == ACL_PRECISION_MODE ? "allow_fp32_to_fp16" : "";
}

aclError set_parameter(const char* function, aclSysParamOpt option, int64_t value) {
  if (option < ACL_OPT_DETERMINISTIC || option > ACL_OPT_STRONG_CONSISTENCY) {
    return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "option %d", option);
  }
  std::lock_guard<std::mutex> lock(mutex);
  kept<aclSysParamOpt, int64_t>()[option] = value;
  return ACL_SUCCESS;
}

aclError get_parameter(const char* function, aclSysParamOpt option, int64_t* value) {
  if (value == nullptr) return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "value is null");
  std::lock_guard<std::mutex> lock(mutex);
  *value = kept<aclSysParamOpt, int64_t>()[option];  // 0, off, where nobody has set it
  return ACL_SUCCESS;
}

// What this CANN can do: bf16 and infinities like every Ascend 910B.
constexpr aclCannAttr kAttributes[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16, ACL_CANN_ATTR_JIT_COMPILE};

}  // namespace

aclError aclSetCompileopt(aclCompileOpt option, const char* value) {
  SIM_REQUIRE(value != nullptr, ACL_ERROR_INVALID_PARAM, "value is null");
  std::lock_guard<std::mutex> lock(mutex);
  kept<aclCompileOpt, std::string>()[option] = value;
  return ACL_SUCCESS;
}

size_t aclGetCompileoptSize(aclCompileOpt option) {
  std::lock_guard<std::mutex> lock(mutex);
  return compile_option(option).size() + 1;
}

aclError aclGetCompileopt(aclCompileOpt option, char* value, size_t length) {
  SIM_REQUIRE(value != nullptr, ACL_ERROR_INVALID_PARAM, "value is null");
  std::lock_guard<std::mutex> lock(mutex);
  const std::string text = compile_option(option);
  SIM_REQUIRE(length > text.size(), ACL_ERROR_INVALID_PARAM, "length %zu: %zu are needed", length, text.size() + 1);
  std::memcpy(value, text.c_str(), text.size() + 1);
  return ACL_SUCCESS;
}

aclError aclrtSetSysParamOpt(aclSysParamOpt option, int64_t value) { return set_parameter(__func__, option, value); }
aclError aclrtGetSysParamOpt(aclSysParamOpt option, int64_t* value) { return get_parameter(__func__, option, value); }
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt option, int64_t value) { return set_parameter(__func__, option, value); }
aclError aclrtCtxGetSysParamOpt(aclSysParamOpt option, int64_t* value) { return get_parameter(__func__, option, value); }

// CPU kernels follow IEEE 754: infinities and NaN appear as such, which is what the mode INFNAN asks for.
aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  SIM_REQUIRE(mode == ACL_RT_OVERFLOW_MODE_INFNAN, ACL_ERROR_API_NOT_SUPPORT,
              "the simulator lacks the overflow mode %d; it has INFNAN only", mode);
  return sim::nothing_to_do("CPU kernels always give infinities and NaN");
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  return sim::tell(__func__, "mode", mode, ACL_RT_OVERFLOW_MODE_INFNAN);
}

// Limits on how long the device may take for one operator. Operators run on the caller's thread, where nothing hangs
// that the program itself would not.
aclError aclrtSetOpExecuteTimeOut(uint32_t) { return sim::nothing_to_do("a limit on device time; there is no device"); }
aclError aclrtSetOpWaitTimeout(uint32_t) { return sim::nothing_to_do("a limit on device time; there is no device"); }

aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout_us, uint64_t* actual_us) {
  return sim::tell(__func__, "actualTimeout", actual_us, timeout_us);  // kept to without work: there is no device
}

aclError aclGetCannAttributeList(const aclCannAttr** list, size_t* count) {
  SIM_REQUIRE(list != nullptr && count != nullptr, ACL_ERROR_INVALID_PARAM, "a pointer is null");
  *list = kAttributes;
  *count = sizeof kAttributes / sizeof *kAttributes;
  return ACL_SUCCESS;
}

aclError aclGetCannAttribute(aclCannAttr attribute, int32_t* value) {
  SIM_REQUIRE(value != nullptr, ACL_ERROR_INVALID_PARAM, "value is null");
  SIM_REQUIRE(attribute >= ACL_CANN_ATTR_INF_NAN && attribute <= ACL_CANN_ATTR_JIT_COMPILE, ACL_ERROR_INVALID_PARAM,
              "the simulator does not know attribute %d", attribute);
  *value = attribute != ACL_CANN_ATTR_JIT_COMPILE;
  return ACL_SUCCESS;
}
