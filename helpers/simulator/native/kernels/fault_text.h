// The text of ASCEND_WORKBOOK_SIM_FAULT, or of the file that it names, as faults. The grammar is in faults.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fault.h"

namespace npu_sim {

// Throws c10::Error, a ValueError in Python, that names what was expected and where.
std::vector<std::shared_ptr<Fault>> read_fault_text(const std::string& value);

}  // namespace npu_sim
