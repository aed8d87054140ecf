// What the kernels know of single operators by name: traits.txt in the simulator's folder.
#pragma once

#include <string>
#include <vector>

namespace npu_sim {

// A file or folder of the simulator, beside the lib64/ in which this library lies.
std::string beside_libraries(const std::string& name);

// The lines of a file there, without comments; throws c10::Error if it is missing.
std::vector<std::string> lines_beside_libraries(const std::string& name);

// The arguments that the trait's lines name for the operator; nullptr where they do not name the operator.
const std::vector<std::string>* find_trait(const char* trait, const std::string& op);

inline bool has_trait(const char* trait, const std::string& op) { return find_trait(trait, op) != nullptr; }

}  // namespace npu_sim
