#include "half_as_float.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <string>
#include <vector>

#include "device_memory.h"
#include "tensors.h"
#include "traits.h"

namespace npu_sim {
namespace {

constexpr const char* kAttention = "aten::_scaled_dot_product_flash_attention_for_cpu";
constexpr const char* kAttentionBackward = "aten::_scaled_dot_product_flash_attention_for_cpu_backward";

bool is_half(at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }

bool holds(const c10::IValue& value) { return value.isTensor() && value.toTensor().defined(); }

bool writes(const c10::OperatorHandle& op, size_t argument) {
  const auto* alias = op.schema().arguments()[argument].alias_info();
  const auto* unsaid = find_trait("written_unsaid", op.operator_name().name);
  return (alias != nullptr && alias->isWrite()) ||
         (unsaid != nullptr && std::count(unsaid->begin(), unsaid->end(), std::to_string(argument)) > 0);
}

struct Widened {
  at::Tensor narrow, wide;
};

at::Tensor widened(const at::Tensor& tensor, bool written, std::vector<Widened>& all) {
  if (!tensor.defined() || !is_half(tensor.scalar_type())) {
    return tensor;
  }
  auto wide = tensor.to(at::kFloat);
  if (written) {
    all.push_back({tensor, wide});
  }
  return wide;
}

// A result asked for in the call's half type is rounded to it after the sum, not before.
bool asks_for(const c10::OperatorHandle& op, size_t argument, const c10::IValue& value, at::ScalarType type) {
  return value.isInt() && op.schema().arguments()[argument].name() == "dtype" && value.toScalarType() == type;
}

std::vector<Widened> widen(const c10::OperatorHandle& op, torch::jit::Stack* stack, size_t first, at::ScalarType type) {
  std::vector<Widened> written;
  for (size_t i = first; i < stack->size(); ++i) {
    auto& value = (*stack)[i];
    if (asks_for(op, i - first, value, type)) {
      value = at::kFloat;
    } else {
      change_tensors(value, [&](const at::Tensor& tensor) { return widened(tensor, writes(op, i - first), written); });
    }
  }
  return written;
}

template <typename Test>
bool any_of_call(const torch::jit::Stack& stack, size_t first, const Test& test) {
  return std::any_of(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end(),
                     [&](const c10::IValue& value) { return any_tensor(value, test); });
}

bool holds_float(const torch::jit::Stack& stack, size_t first) {
  return any_of_call(stack, first, [](const at::Tensor& tensor) { return tensor.scalar_type() == at::kFloat; });
}

// Whether its parameters, and with them their gradients, are float32: by the weight, where there is one.
bool float_parameters(const c10::OperatorHandle& op, const torch::jit::Stack& stack, size_t first) {
  const auto weight = op.schema().argumentIndexWithName("weight");
  return weight && holds(stack[first + static_cast<size_t>(*weight)])
      ? stack[first + static_cast<size_t>(*weight)].toTensor().scalar_type() == at::kFloat
      : holds_float(stack, first);
}

// Numbers, which come as tensors of float64, promote nothing.
bool all_alike(const torch::jit::Stack& stack, size_t first, at::ScalarType type) {
  return !any_of_call(stack, first, [type](const at::Tensor& tensor) {
    return tensor.is_floating_point() && tensor.scalar_type() != type &&
           !tensor.unsafeGetTensorImpl()->is_wrapped_number();
  });
}

// How many results have the input's type. Statistics of a layer norm are float32 whatever its weight is
// (op_plugin/ops/opapi/LayerNormKernelNpuOpApi.cpp), those of attention too.
size_t narrow_results(const c10::OperatorHandle& op, bool mixed) {
  const auto& name = op.operator_name().name;
  if (name == kAttentionBackward) {
    return op.schema().returns().size();
  }
  return mixed || name == "aten::native_layer_norm" || name == kAttention ? 1 : op.schema().returns().size();
}

// Those that are no result too: running statistics.
void write_back(std::vector<Widened>& written) {
  for (auto& pair : written) {
    pair.narrow.resize_(pair.wide.sizes()).copy_(pair.wide);
  }
}

at::Tensor narrowed(const at::Tensor& result, const std::vector<Widened>& written, at::ScalarType type) {
  for (const auto& pair : written) {
    if (pair.wide.is_same(result)) {
      return pair.narrow;
    }
  }
  return result.defined() && result.scalar_type() == at::kFloat ? result.to(type) : result;
}

}  // namespace

optional<at::ScalarType> half_type(const torch::jit::Stack& stack, size_t first, bool mixes) {
  optional<at::ScalarType> type;
  any_of_call(stack, first, [&type](const at::Tensor& tensor) {
    type = is_half(tensor.scalar_type()) ? optional<at::ScalarType>(tensor.scalar_type()) : nullopt;
    return type.has_value();
  });
  const bool leads = mixes && holds(stack[first]) && type == stack[first].toTensor().scalar_type();
  return type && (leads || all_alike(stack, first, *type)) ? type : nullopt;
}

bool mixes_half(const c10::OperatorHandle& op) {
  const auto& name = op.operator_name().name;
  return name.find("batch_norm") != std::string::npos || name.find("aten::native_layer_norm") == 0 ||
         name == kAttentionBackward;
}

bool rounds_between(const c10::OperatorHandle& op) { return has_trait("rounds_between", op.operator_name().name); }

optional<size_t> factor_argument(const c10::OperatorHandle& op) {
  const auto* names = find_trait("factor", op.operator_name().name);
  const auto index = names == nullptr ? nullopt : op.schema().argumentIndexWithName(names->front());
  return index ? optional<size_t>(static_cast<size_t>(*index)) : nullopt;
}

bool scales(const c10::IValue& factor, at::ScalarType type) {
  if (!factor.isScalar() || factor.toScalar().equal(1)) {
    return false;
  }
  const at::Scalar& by = factor.toScalar();
  return type != at::kHalf || by.isComplex() || !c10::overflows<at::Half>(by.toDouble());
}

bool lacks_half(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.find("not implemented for 'Half'") != std::string::npos ||
         text.find("not implemented for 'BFloat16'") != std::string::npos;
}

void compute_in_float(const c10::OperatorHandle& op, torch::jit::Stack* stack, at::ScalarType type) {
  const size_t first = stack->size() - op.schema().arguments().size();
  const bool mixed = float_parameters(op, *stack, first);
  std::vector<Widened> written;
  {
    AllocateOnNpu host(false);  // the unit's accumulator is its own, no device memory
    written = widen(op, stack, first, type);
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
  write_back(written);
  const size_t results = stack->size() - op.schema().returns().size();
  for (size_t i = results; i < results + narrow_results(op, mixed); ++i) {
    change_tensors((*stack)[i], [&](const at::Tensor& result) { return narrowed(result, written, type); });
  }
}

}  // namespace npu_sim
