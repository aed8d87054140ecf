// The version this CANN gives itself: the one whose interface it follows. version.cfg beside the libraries adds
// simulated=true. As its driver's it gives that of the release it is documented with (CANN 9.1.0: Ascend HDK 26.1.0).
#include "runtime.h"

#include <cstdio>
#include <cstring>

#ifndef SIM_CANN_VERSION
#error "the build gives SIM_CANN_VERSION"
#endif

namespace {

constexpr const char* kDriver = "26.1.0";

void set(aclCANNPackageVersion* version, const char* text) {
  *version = {};
  std::snprintf(version->version, sizeof version->version, "%s", text);
  std::sscanf(text, "%63[^.].%63[^.].%63[^.]", version->majorVersion, version->minorVersion, version->releaseVersion);
}

}  // namespace

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  SIM_REQUIRE(version != nullptr, ACL_ERROR_INVALID_PARAM, "version is null");
  set(version, name == ACL_PKG_NAME_DRIVER ? kDriver : SIM_CANN_VERSION);
  return ACL_SUCCESS;
}

aclError aclsysGetVersionStr(char* package, char* version) {
  SIM_REQUIRE(package != nullptr && version != nullptr, ACL_ERROR_INVALID_PARAM, "a pointer is null");
  const bool driver = std::strcmp(package, "driver") == 0;
  std::snprintf(version, ACL_PKG_VERSION_MAX_SIZE, "%s", driver ? kDriver : SIM_CANN_VERSION);
  return ACL_SUCCESS;
}
