// The simulator never stands before a real CANN: aclInit asks this first.
#pragma once

#include <string>

namespace sim {

// The path that shows a real CANN or driver on this machine: ASCEND_HOME_PATH, or one that real_signs.txt names in the
// folder above `libraries`. Empty where there is none, or where ASCEND_WORKBOOK_SIM_FORCE=1.
std::string real_cann(const std::string& libraries);

}  // namespace sim
