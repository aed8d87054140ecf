// Which data types an Atlas A2 takes, operator by operator and argument by argument: dtypes.txt.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <memory>
#include <string>
#include <vector>

namespace npu_sim {

struct DtypeLimits {
  std::string function;             // CANN's function behind the operator
  std::string source;               // where its documentation says so
  std::vector<uint64_t> accepted;   // for each argument a bit by ScalarType; 0: not known
  uint64_t result = 0;              // the types of the (first) result; 0: not known
  int64_t dims = 0;                 // the most dimensions of a tensor; 0: not known
  bool between_devices = false;     // copies from or to another device ask CANN nothing
  // Of an operator on lists (list_limits.h):
  std::string plain;                // the operator that each tensor is given to where the lists are not alike
  uint64_t route = 0;               // the types for which torch_npu asks FUNCTION at all; 0: all
  std::string says, code;           // torch_npu's own refusal, instead of CANN's
};

// Reads dtypes.txt of the simulator's folder; throws c10::Error if it is missing or malformed.
void read_dtype_limits();

// Whether dtypes.txt has a line for an operator, one that fits this torch or not.
bool has_line(const std::string& op);

// nullptr where it is not known what the hardware takes.
std::shared_ptr<const DtypeLimits> dtype_limits(const c10::OperatorHandle& op);

// Remembers an operator that ran although it is not known what the hardware takes.
void note_unknown(const std::string& op);

// The operators so remembered in this process, each on a line.
const char* unknown_in_use();

// The lines of dtypes.txt that do not fit this torch: an operator and the argument that it lacks, each on a line.
const char* lines_set_aside();

// Raises as torch_npu does when CANN refuses a tensor for its type or its number of dimensions.
[[noreturn]] void refuse_tensor(const DtypeLimits& limits, const std::string& op, const std::string& argument,
                                size_t index, const at::Tensor& tensor);

// Raises, in words of its own, where PyTorch's CPU kernel lacks a data type ("... not implemented for 'Float'"): what an NPU
// does is said as far as it is known. Other errors are left to the caller.
void refuse_lacking(const DtypeLimits* limits, const std::string& op, const c10::Error& error);

// For operators registered by hand: refuses the tensor, if need be. Reads the operator's line anew.
void check_argument(const char* op, size_t index, const at::Tensor& tensor);

[[noreturn]] void refuse_result(const DtypeLimits& limits, const std::string& op, at::ScalarType type);

inline bool gives(const DtypeLimits& limits, const c10::IValue& result) {
  return limits.result == 0 || !result.isTensor() ||
         (limits.result >> static_cast<unsigned>(result.toTensor().scalar_type()) & 1) != 0;
}

inline bool takes(const DtypeLimits& limits, size_t index, const at::Tensor& tensor) {
  const uint64_t accepted = limits.accepted[index];
  return accepted == 0 || ((accepted >> static_cast<unsigned>(tensor.scalar_type()) & 1) != 0 &&
                           (limits.dims == 0 || tensor.dim() <= limits.dims));
}

}  // namespace npu_sim
