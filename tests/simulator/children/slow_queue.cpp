// Preloaded: torch_npu's queue thread reads the message of a failed task after it has emptied the queue and before it
// says that it has failed. Here it takes four seconds over that.
#include <dlfcn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstring>

extern "C" const char* aclGetRecentErrMsg() {
  static const auto real =
      reinterpret_cast<const char* (*)()>(dlsym(dlopen("libascendcl.so", RTLD_LAZY), "aclGetRecentErrMsg"));
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  if (std::strcmp(name, "acl_thread") == 0) sleep(4);
  return real();
}
