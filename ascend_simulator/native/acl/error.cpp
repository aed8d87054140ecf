// The recent error message of each thread, as AscendCL's aclGetRecentErrMsg gives it.
#include "runtime.h"

#include <sys/prctl.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace {
constexpr size_t kMessageSize = 1024;
thread_local char recent[kMessageSize];
thread_local char given[kMessageSize];
thread_local aclError last_error = ACL_SUCCESS;

// The first failure on the thread that empties torch_npu's task queue. That queue is dead from then on: it throws once
// and drops what comes later without a word; and it says that it is empty a moment before it says that it has failed
// (torch_npu/csrc/core/npu/NPUQueue.cpp, Repository::ReadQueue), so that a synchronize may miss even the one error.
struct FailedTask {
  std::mutex mutex;
  std::atomic<aclError> code{ACL_SUCCESS};
  char message[kMessageSize];
};

FailedTask& failed_task = *new FailedTask;  // outlives static destructors of torch_npu

// torch_npu names this thread so (torch_npu/csrc/core/npu/NPUAffinityController.cpp).
bool empties_task_queue() {
  char name[16] = "";
  return prctl(PR_GET_NAME, name) == 0 && std::strcmp(name, "acl_thread") == 0;
}

void remember_failed_task(aclError code) {
  std::lock_guard<std::mutex> lock(failed_task.mutex);
  if (failed_task.code != ACL_SUCCESS) return;
  std::memcpy(failed_task.message, recent, sizeof recent);
  failed_task.code = code;
}
}  // namespace

namespace sim {

aclError fail(aclError code, const char* function, const char* format, ...) {
  const int length = std::snprintf(recent, sizeof recent, "[simulated NPU] %s: ", function);
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(recent + length, sizeof recent - length, format, arguments);
  va_end(arguments);
  last_error = code;
  if (empties_task_queue()) remember_failed_task(code);
  return code;
}

aclError check_tasks() {
  if (failed_task.code == ACL_SUCCESS) return ACL_SUCCESS;
  std::memcpy(recent, failed_task.message, sizeof recent);
  last_error = ACL_ERROR_RT_INTERNAL_ERROR;
  return last_error;
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
