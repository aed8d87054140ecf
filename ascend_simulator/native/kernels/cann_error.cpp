#include "cann_error.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace npu_sim {
namespace {

// The line that torch_npu ends its errors with (torch_npu/csrc/core/npu/NPUException.cpp, formatErrorCode).
std::string error_line(const std::string& code) {
  char now[32];
  const std::time_t seconds = std::time(nullptr);
  std::strftime(now, sizeof now, "%Y-%m-%d-%H:%M:%S", std::localtime(&seconds));
  const auto device = c10::impl::VirtualGuardImpl(c10::DeviceType::PrivateUse1).getDevice().index();
  const char* rank = std::getenv("RANK");
  return c10::str("\n[ERROR] ", now, " (PID:", getpid(), ", Device:", static_cast<int>(device),
                  ", RankID:", rank != nullptr ? rank : "-1", ") ", code);
}

}  // namespace

void refuse_as_cann(const std::string& op, const std::string& function, const std::string& why,
                    const std::string& note) {
  TORCH_CHECK(false, op, ": NPU function error: call ", function, " failed, error code is 161002",
              error_line("ERR00100 PTA call acl api failed."), "\nAclNN_Parameter_Error(EZ1001): ", why,
              "\n[simulated NPU] ", note);
}

void refuse_as_torch_npu(const std::string& why, const std::string& code, const std::string& note) {
  TORCH_CHECK(false, why, code.empty() ? "" : error_line(code), "\n[simulated NPU] ", note);
}

}  // namespace npu_sim
