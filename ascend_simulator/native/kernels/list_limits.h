// Operators on lists of tensors (_foreach_*): torch_npu gives the lists to one function of CANN where they are alike, and
// each tensor to the plain operator where they are not; either road has data types of its own.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <memory>
#include <string>
#include <vector>

#include "dtype_limits.h"

namespace npu_sim {

struct ListLimits {
  std::shared_ptr<const DtypeLimits> together;  // CANN's function for lists
  std::shared_ptr<const DtypeLimits> apart;     // the plain operator
  std::string name, plain;                      // of the operator, of the plain one
  std::vector<std::string> arguments;           // names
  std::vector<size_t> lists;                    // arguments that are lists
  std::vector<size_t> plain_arguments;          // for each of lists the argument of the plain operator
  std::vector<std::string> plain_names;
  std::vector<uint64_t> either;                 // for each of lists the types that both roads take
  int64_t dims = 0;                             // the most dimensions that both take; 0: any
};

// nullptr where the operator's line in dtypes.txt names no plain operator.
std::shared_ptr<const ListLimits> list_limits(const c10::OperatorHandle& op, std::shared_ptr<const DtypeLimits> limits);

// Refuses as torch_npu or CANN does; `first` is the first argument's place on the stack.
void check_lists(const ListLimits& limits, const torch::jit::Stack& stack, size_t first);

}  // namespace npu_sim
