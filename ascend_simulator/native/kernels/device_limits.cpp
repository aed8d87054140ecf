#include "device_limits.h"

#include <unordered_set>

#include "cann_error.h"
#include "traits.h"

namespace npu_sim {
namespace {

auto& device_checks = *new std::unordered_set<std::string>;  // leaked, as all that outlives static destructors

bool writes_to_out(const c10::FunctionSchema& schema) {
  for (const auto& argument : schema.arguments()) {
    if (argument.kwarg_only() && argument.alias_info() != nullptr && argument.alias_info()->isWrite()) {
      return true;
    }
  }
  return false;
}

// As torchgen names a wrapper's function: the overload, then the operator, "_out" where it writes to out=.
std::string function_of(const c10::OperatorHandle& op) {
  const auto& name = op.operator_name();
  return name.overload_name + "_" + name.name.substr(name.name.find("::") + 2) +
         (writes_to_out(op.schema()) ? "_out" : "");
}

}  // namespace

void read_device_checks() {
  for (const auto& line : lines_beside_libraries("device_checks.txt")) {
    device_checks.insert(line);
  }
}

std::string device_check(const c10::OperatorHandle& op) {
  const auto function = function_of(op);
  for (const auto* prefix : {"wrapper_NPU_", "wrapper_"}) {
    if (device_checks.count(prefix + function) > 0) {
      return prefix + function;
    }
  }
  return "";
}

void refuse_device(const std::string& wrapper, const std::string& op, const std::string& argument,
                   const at::Tensor& tensor, c10::Device expected) {
  constexpr const char* kSame = "Expected all tensors to be on the same device";
  // The words of older releases of torch, for whoever looks for them.
  const auto note = c10::str("argument ", argument, " of ", op, ": ", kSame, ", but found at least two devices, ",
                             expected, " and ", tensor.device(), "!");
  // c10::impl::common_device_check_failure of torch 2.13, which the wrappers call.
  TORCH_CHECK(wrapper.empty(), kSame, ", but got ", argument, " is on ", tensor.device(),
              ", different from other tensors on ", expected, " (when checking argument in method ", wrapper, ")",
              "\n[simulated NPU] ", note);
  if (tensor.device().type() != at::kPrivateUse1) {  // op_plugin/utils/op_api_common.h, ConvertType
    refuse_as_torch_npu(
        c10::str(kSame, ". Expected NPU tensor, please check whether the input tensor device is correct."),
        "ERR01002 OPS invalid type", note);
  }
  TORCH_CHECK(false, kSame, ", but found at least two devices, ", expected, " and ", tensor.device(), "!",
              "\n[simulated NPU] argument ", argument, " of ", op, ", whose devices torch_npu itself does not compare");
}

}  // namespace npu_sim
