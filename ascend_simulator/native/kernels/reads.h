// What a program on the host learns of modelled values (shapes_only/contents.h): each place is listed once, with the line
// of the program's own code, may be given a value, and is stopped where it asks without end.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "torch_api.h"

namespace npu_sim {

struct Read {
  std::string op;
  at::ScalarType dtype;
  std::vector<int64_t> sizes;
  optional<double> value;  // the stand-in, where the read is of one number
  bool sets_shape = false;      // how many rows there are depends on it
};

// The value that ASCEND_WORKBOOK_SIM_ASSUME gives for this place. Throws c10::Error where the program reads in a loop that
// no modelled value ends.
optional<double> note_read(const Read& read);

// How many of `most` rows an operator keeps whose result is as long as its values say: the share `rows=` of
// ASCEND_WORKBOOK_SIM_ASSUME, half of them by default, or what is assumed for this place. At least one of some.
int64_t assumed_rows(const std::string& op, const at::Tensor& values, int64_t most);

// Imports the Python side, shapes_only/ beside lib64/, and lets the CPU's initialisers reserve instead of writing.
void start_shapes_only();

}  // namespace npu_sim
