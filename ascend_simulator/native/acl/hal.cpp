// What torch_npu asks of the driver's library (libascend_hal.so): its version and the frequency of the system counter.
#include "runtime.h"

// Version 0 is older than every driver, so that torch_npu takes host time stamps instead of a device counter.
SIM_EXPORT int32_t halGetAPIVersion(int32_t* version) {
  SIM_REQUIRE(version != nullptr, ACL_ERROR_INVALID_PARAM, "version is null");
  *version = 0;
  return ACL_SUCCESS;
}

SIM_EXPORT int32_t halGetDeviceInfo(uint32_t, int32_t, int32_t, int64_t*) {
  SIM_UNSUPPORTED();
}
