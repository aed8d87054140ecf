// The recent error message of each thread, as AscendCL's aclGetRecentErrMsg gives it.
#include "runtime.h"

#include <cstdarg>
#include <cstdio>

namespace {
constexpr size_t kMessageSize = 1024;
thread_local char recent[kMessageSize];
thread_local char given[kMessageSize];
thread_local aclError last_error = ACL_SUCCESS;
}  // namespace

namespace sim {

aclError fail(aclError code, const char* function, const char* format, ...) {
  const int length = std::snprintf(recent, sizeof recent, "[simulated NPU] %s: ", function);
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(recent + length, sizeof recent - length, format, arguments);
  va_end(arguments);
  last_error = code;
  return code;
}

aclError unsupported(const char* function) {
  return fail(ACL_ERROR_API_NOT_SUPPORT, function, "the simulator lacks this function; a real NPU may have it");
}

}  // namespace sim

// Reading the message clears it, as documented: "the next call gets the next error".
const char* aclGetRecentErrMsg() {
  if (recent[0] == '\0') return nullptr;
  __builtin_memcpy(given, recent, sizeof given);
  recent[0] = '\0';
  return given;
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel) { return last_error; }

aclError aclrtGetLastError(aclrtLastErrLevel) {
  const aclError code = last_error;
  last_error = ACL_SUCCESS;
  return code;
}

// CANN writes these lines to its log files, never to the user; there are no log files here.
void aclAppLog(aclLogLevel, const char*, const char*, uint32_t, const char*, ...) {}
