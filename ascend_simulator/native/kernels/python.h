// Modules of Python that the simulator brings along, in folders beside lib64/.
#pragma once

#include <string>

namespace npu_sim {

// Imports a folder as the package `_npu_sim_` + `name`, without sys.path, so that no module of the user is met, and calls
// a function of one of its modules. One thread loads, others wait without the interpreter's lock. Throws c10::Error.
void call_beside_libraries(const std::string& name, const std::string& module, const std::string& function);

}  // namespace npu_sim
