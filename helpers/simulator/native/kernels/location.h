// The simulator's folder: where this library lies in lib64/.
#pragma once

#include <string>

namespace npu_sim {

// A file or folder beside lib64/, by its name.
std::string beside_libraries(const std::string& name);

}  // namespace npu_sim
