// Errors as the unmodified torch_npu raises them when CANN refuses a call, with a line that says who speaks.
#pragma once

#include <string>

namespace npu_sim {

// RuntimeError: CANN's function refused its arguments (aclnn status 161002, ACLNN_ERR_PARAM_INVALID). `why` follows
// "EZ1001"; `note` follows in the simulator's own voice.
[[noreturn]] void refuse_as_cann(const std::string& op, const std::string& function, const std::string& why,
                                 const std::string& note);

// RuntimeError: torch_npu's own kernel refused its arguments; `code` as "ERR01001 OPS invalid parameter".
[[noreturn]] void refuse_as_torch_npu(const std::string& why, const std::string& code, const std::string& note);

}  // namespace npu_sim
