#include "half_as_float.h"

#include <ATen/core/Tensor.h>

#include <string>

namespace npu_sim {
namespace {

bool backward(const c10::OperatorHandle& op) {
  return op.operator_name().name.find("backward_data") != std::string::npos;
}

}  // namespace

bool mixes_softmax(const c10::OperatorHandle& op) {
  const auto& name = op.operator_name().name;
  return (name == "aten::_softmax" || name == "aten::_log_softmax" || name == "aten::_softmax_backward_data" ||
          name == "aten::_log_softmax_backward_data") &&
         op.operator_name().overload_name.empty();
}

optional<at::ScalarType> even_softmax(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const size_t first = stack->size() - op.schema().arguments().size();
  auto& last = stack->back();  // half_to_float or input_dtype
  if (!backward(op)) {
    const auto input = (*stack)[first].toTensor();
    if (last.toBool() && input.scalar_type() == at::kHalf) {  // the only type that torch.softmax asks it for
      (*stack)[first] = input.to(at::kFloat);
      last = false;
    }
    return nullopt;
  }
  const auto asked = last.toScalarType();
  const auto gradient = (*stack)[first].toTensor(), output = (*stack)[first + 1].toTensor();
  if (asked != at::kHalf || gradient.scalar_type() != at::kFloat || output.scalar_type() != at::kFloat) {
    return nullopt;
  }
  last = at::kFloat;
  return asked;
}

}  // namespace npu_sim
