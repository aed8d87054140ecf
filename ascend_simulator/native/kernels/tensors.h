// The tensors of one value on the stack: itself, or the elements of a list.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "torch_api.h"

namespace npu_sim {

// Shows `test` each tensor that is defined until it answers true; whether it did.
template <typename Test>
bool any_tensor(const c10::IValue& value, const Test& test) {
  const auto holds = [&](const optional<at::Tensor>& tensor) { return tensor && tensor->defined() && test(*tensor); };
  if (value.isTensor()) {
    return holds(value.toTensor());
  }
  if (value.isTensorList()) {
    const auto tensors = value.toTensorVector();
    return std::any_of(tensors.begin(), tensors.end(), holds);
  }
  if (value.isOptionalTensorList()) {
    const auto tensors = value.toOptionalTensorVector();
    return std::any_of(tensors.begin(), tensors.end(), holds);
  }
  return false;
}

// Replaces each tensor by what `change` makes of it. No list holds a second reference to a tensor that is changed.
template <typename Change>
void change_tensors(c10::IValue& value, const Change& change) {
  if (value.isTensor()) {
    value = change(std::move(value).toTensor());
  } else if (value.isTensorList()) {
    auto tensors = value.toTensorVector();
    value = c10::IValue();
    for (auto& tensor : tensors) {
      tensor = change(std::move(tensor));
    }
    value = std::move(tensors);
  } else if (value.isOptionalTensorList()) {
    auto tensors = value.toOptionalTensorVector();
    for (auto& tensor : tensors) {
      tensor = tensor ? optional<at::Tensor>(change(std::move(*tensor))) : nullopt;
    }
    value = std::move(tensors);
  }
}

}  // namespace npu_sim
