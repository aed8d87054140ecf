#include "half_as_float.h"

#include <ATen/core/Tensor.h>

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "device_memory.h"

namespace npu_sim {
namespace {

constexpr const char* kAttention = "aten::_scaled_dot_product_flash_attention_for_cpu";
constexpr const char* kAttentionBackward = "aten::_scaled_dot_product_flash_attention_for_cpu_backward";

bool is_half(at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }

bool holds(const c10::IValue& value) { return value.isTensor() && value.toTensor().defined(); }

// Arguments that the operator writes to though its schema does not say so: running statistics.
const std::unordered_map<std::string, std::unordered_set<size_t>>& written_unsaid() {
  static const std::unordered_map<std::string, std::unordered_set<size_t>> arguments = {
      {"aten::native_batch_norm", {3, 4}},
      {"aten::_native_batch_norm_legit", {3, 4}},
      {"aten::_batch_norm_with_update", {3, 4}}};
  return arguments;
}

bool writes(const c10::OperatorHandle& op, size_t argument) {
  const auto* alias = op.schema().arguments()[argument].alias_info();
  const auto unsaid = written_unsaid().find(op.operator_name().name);
  return (alias != nullptr && alias->isWrite()) ||
         (unsaid != written_unsaid().end() && unsaid->second.count(argument) > 0);
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
    if (value.isTensor()) {
      value = widened(value.toTensor(), writes(op, i - first), written);
    } else if (asks_for(op, i - first, value, type)) {
      value = at::kFloat;
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> wide;
      for (const at::Tensor& one : value.toTensorList()) {
        wide.push_back(widened(one, writes(op, i - first), written));
      }
      value = wide;
    }
  }
  return written;
}

// The call's tensors, those of lists too.
template <typename Test>
bool any_tensor(const torch::jit::Stack& stack, size_t first, const Test& test) {
  for (size_t i = first; i < stack.size(); ++i) {
    if (holds(stack[i]) && test(stack[i].toTensor())) {
      return true;
    }
    if (stack[i].isTensorList()) {
      for (const at::Tensor& one : stack[i].toTensorList()) {
        if (one.defined() && test(one)) {
          return true;
        }
      }
    }
  }
  return false;
}

bool holds_float(const torch::jit::Stack& stack, size_t first) {
  return any_tensor(stack, first, [](const at::Tensor& tensor) { return tensor.scalar_type() == at::kFloat; });
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
  return !any_tensor(stack, first, [type](const at::Tensor& tensor) {
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

std::optional<at::ScalarType> half_type(const torch::jit::Stack& stack, size_t first, bool mixes) {
  std::optional<at::ScalarType> type;
  any_tensor(stack, first, [&type](const at::Tensor& tensor) {
    type = is_half(tensor.scalar_type()) ? std::make_optional(tensor.scalar_type()) : std::nullopt;
    return type.has_value();
  });
  const bool leads = mixes && holds(stack[first]) && type == stack[first].toTensor().scalar_type();
  return type && (leads || all_alike(stack, first, *type)) ? type : std::nullopt;
}

bool mixes_half(const c10::OperatorHandle& op) {
  const auto& name = op.operator_name().name;
  return name.find("batch_norm") != std::string::npos || name.find("aten::native_layer_norm") == 0 ||
         name == kAttentionBackward;
}

bool rounds_between(const c10::OperatorHandle& op) {
  static const std::unordered_set<std::string> names = {
      "aten::mm", "aten::bmm", "aten::mv", "aten::dot", "aten::addmm", "aten::addmm_", "aten::addmv", "aten::addmv_",
      "aten::addbmm", "aten::addbmm_", "aten::baddbmm", "aten::baddbmm_", "aten::convolution",
      "aten::convolution_overrideable", "aten::convolution_backward", "aten::convolution_backward_overrideable",
      "aten::_slow_conv2d_forward", "aten::_slow_conv2d_backward", "aten::slow_conv3d_forward",
      "aten::slow_conv_transpose2d", "aten::slow_conv_transpose3d", "aten::slow_conv_dilated2d",
      "aten::slow_conv_dilated3d", "aten::conv_tbc",
      "aten::native_batch_norm", "aten::_native_batch_norm_legit", "aten::native_batch_norm_backward",
      "aten::native_layer_norm", "aten::native_layer_norm_backward",
      "aten::binary_cross_entropy_with_logits", "aten::add_relu", "aten::_add_relu", "aten::_add_relu_",
      "aten::cdist", "aten::_cdist_forward", "aten::_cdist_backward", "aten::addcmul", "aten::addcmul_",
      "aten::addcdiv", "aten::addcdiv_", "aten::_foreach_addcmul", "aten::_foreach_addcmul_",
      "aten::_foreach_addcdiv", "aten::_foreach_addcdiv_", "aten::grid_sampler_2d", "aten::grid_sampler_2d_backward",
      "aten::grid_sampler_3d", "aten::grid_sampler_3d_backward", kAttention, kAttentionBackward,
      "aten::nll_loss_forward", "aten::nll_loss_backward", "aten::nll_loss2d_forward", "aten::nll_loss2d_backward",
      "aten::soft_margin_loss", "aten::soft_margin_loss_backward", "aten::binary_cross_entropy_backward",
      "aten::mse_loss", "aten::mse_loss_backward", "aten::huber_loss_backward", "aten::_adaptive_avg_pool3d",
      "aten::addr", "aten::addr_", "aten::_trilinear", "aten::linalg_cross", "aten::logit", "aten::polygamma",
      "aten::glu_backward", "aten::mish", "aten::mish_backward", "aten::_log_softmax", "aten::index_reduce",
      "aten::prod", "aten::_embedding_bag_backward", "aten::_unsafe_masked_index_put_accumulate",
      "aten::upsample_linear1d", "aten::upsample_linear1d_backward", "aten::upsample_bilinear2d",
      "aten::upsample_bilinear2d_backward", "aten::upsample_bicubic2d", "aten::upsample_bicubic2d_backward",
      "aten::upsample_trilinear3d", "aten::upsample_trilinear3d_backward"};
  return names.count(op.operator_name().name) > 0;
}

std::optional<size_t> factor_argument(const c10::OperatorHandle& op) {
  static const std::unordered_set<std::string> names = {
      "aten::add", "aten::add_", "aten::sub", "aten::sub_", "aten::rsub", "aten::_foreach_add", "aten::_foreach_add_",
      "aten::_foreach_sub", "aten::_foreach_sub_"};
  if (names.count(op.operator_name().name) == 0) {
    return std::nullopt;
  }
  const auto index = op.schema().argumentIndexWithName("alpha");
  return index ? std::make_optional(static_cast<size_t>(*index)) : std::nullopt;
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
    auto& value = (*stack)[i];
    if (value.isTensor()) {
      value = narrowed(value.toTensor(), written, type);
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& one : value.toTensorList()) {
        list.push_back(narrowed(one, written, type));
      }
      value = list;
    }
  }
}

}  // namespace npu_sim
