// What aclInit's configuration file says that has an effect here.
#pragma once

#include <string>

#include "runtime.h"

namespace sim {

struct Configuration {
  int default_device = -1;  // of threads that set none
};

// Reads a JSON file; stderr names the parts that have no effect here.
aclError read_configuration(const char* function, const std::string& path, Configuration* read);

}  // namespace sim
