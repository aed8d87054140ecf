// The version this CANN gives itself: the one whose interface it follows. version.cfg beside the libraries adds
// simulated=true.
#include "runtime.h"

#include <cstdio>
#include <cstring>

#ifndef SIM_CANN_VERSION
#error "the build gives SIM_CANN_VERSION"
#endif

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  SIM_REQUIRE(version != nullptr, ACL_ERROR_INVALID_PARAM, "version is null");
  SIM_REQUIRE(name != ACL_PKG_NAME_DRIVER, ACL_ERROR_API_NOT_SUPPORT, "the simulator has no driver");
  *version = {};
  std::snprintf(version->version, sizeof version->version, "%s", SIM_CANN_VERSION);
  std::sscanf(SIM_CANN_VERSION, "%63[^.].%63[^.].%63[^.]", version->majorVersion, version->minorVersion,
              version->releaseVersion);
  return ACL_SUCCESS;
}

aclError aclsysGetVersionStr(char* package, char* version) {
  SIM_REQUIRE(package != nullptr && version != nullptr, ACL_ERROR_INVALID_PARAM, "a pointer is null");
  SIM_REQUIRE(std::strcmp(package, "driver") != 0, ACL_ERROR_API_NOT_SUPPORT, "the simulator has no driver");
  std::snprintf(version, ACL_PKG_VERSION_MAX_SIZE, "%s", SIM_CANN_VERSION);
  return ACL_SUCCESS;
}
