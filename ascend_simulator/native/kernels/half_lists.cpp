#include "half_as_float.h"

#include <ATen/ATen.h>

#include <string>
#include <vector>

namespace npu_sim {
namespace {

std::string plain_name(const c10::OperatorHandle& op) {
  auto name = op.operator_name().name;
  if (name.back() == '_') {
    name.pop_back();
  }
  return name;
}

std::vector<at::Scalar> factors(const c10::IValue& value, size_t count) {
  if (value.isScalar()) {
    return std::vector<at::Scalar>(count, value.toScalar());
  }
  std::vector<at::Scalar> found;
  if (value.isTensor()) {
    const auto numbers = value.toTensor().to(at::kDouble).contiguous();
    for (int64_t i = 0; i < numbers.numel(); ++i) {
      found.emplace_back(numbers[i].item<double>());
    }
    return found;
  }
  for (const c10::IValue& one : value.toListRef()) {
    found.push_back(one.toScalar());
  }
  return found;
}

}  // namespace

bool rounds_each_step(const c10::OperatorHandle& op) {
  const auto name = plain_name(op);
  const auto& overload = op.operator_name().overload_name;
  if (name == "aten::_foreach_add" || name == "aten::_foreach_sub") {
    return overload == "List";
  }
  return (name == "aten::_foreach_addcmul" || name == "aten::_foreach_addcdiv") &&
         (overload == "Scalar" || overload == "ScalarList" || overload == "Tensor");
}

void compute_in_steps(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto name = plain_name(op);
  const bool in_place = name != op.operator_name().name;
  const size_t first = stack->size() - op.schema().arguments().size();
  const auto inputs = (*stack)[first].toTensorVector();
  auto terms = (*stack)[first + 1].toTensorVector();
  const auto by = factors(stack->back(), inputs.size());
  TORCH_CHECK(terms.size() == inputs.size() && by.size() == inputs.size(),
              "Tensor lists must have the same number of tensors, got ", inputs.size(), " and ", terms.size());
  if (name == "aten::_foreach_addcmul" || name == "aten::_foreach_addcdiv") {
    const auto others = (*stack)[first + 2].toTensorVector();
    TORCH_CHECK(others.size() == inputs.size(), "Tensor lists must have the same number of tensors, got ",
                inputs.size(), " and ", others.size());
    for (size_t i = 0; i < terms.size(); ++i) {
      terms[i] = name == "aten::_foreach_addcmul" ? terms[i].mul(others[i]) : terms[i].div(others[i]);
    }
  }
  std::vector<at::Tensor> results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto term = terms[i].mul(by[i]);
    auto result = name == "aten::_foreach_sub" ? inputs[i].sub(term) : inputs[i].add(term);
    if (in_place) {
      inputs[i].copy_(result);
    }
    results.push_back(std::move(result));
  }
  stack->resize(first);
  if (!in_place) {
    stack->emplace_back(std::move(results));
  }
}

}  // namespace npu_sim
