#include "attention.h"

#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <ATen/ops/_fused_sdp_choice_ops.h>

namespace npu_sim {
namespace {

// Where torch_npu calls npu_fusion_attention_v3 on a 910B (op_plugin/ops/opapi/ScaledDotProductAttentionKernelNpuOpApi.cpp);
// elsewhere it takes the formula apart as PyTorch does.
constexpr int64_t kLayoutDims = 4, kFloatUnit = 4;

bool npu_fuses(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
               const std::optional<at::Tensor>& mask) {
  for (const auto* tensor : {&query, &key, &value}) {
    if (tensor->dim() != kLayoutDims || (query.scalar_type() == at::kFloat && tensor->size(-1) % kFloatUnit != 0)) {
      return false;
    }
  }
  const auto type = query.scalar_type();
  return (type == at::kHalf || type == at::kBFloat16 || type == at::kFloat) &&
         (!mask.has_value() || !mask->defined() || mask->scalar_type() == at::kBool);
}

int64_t choose(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
               const std::optional<at::Tensor>& mask, double dropout, bool causal, std::optional<double> scale, bool grouped) {
  if (!npu_fuses(query, key, value, mask)) {
    return static_cast<int64_t>(sdp::SDPBackend::math);
  }
  return at::_ops::_fused_sdp_choice::redispatch(c10::DispatchKeySet(c10::DispatchKey::CPU), query, key, value, mask,
                                                 dropout, causal, scale, grouped);
}

}  // namespace

bool is_fused_attention(const c10::OperatorHandle& op) {
  return op.operator_name().name.rfind("aten::_scaled_dot_product_flash_attention_for_cpu", 0) == 0;
}

std::string name_on_npu(const c10::OperatorHandle& op) {
  if (!is_fused_attention(op)) {
    return c10::toString(op.operator_name());
  }
  const bool backward = op.operator_name().name.find("backward") != std::string::npos;
  return backward ? "npu::npu_fusion_attention_grad_v3" : "npu::npu_fusion_attention_v3";
}

void choose_fused_attention() { at::native::_fused_sdp_choice_stub.set_privateuse1_dispatch_ptr(&choose); }

}  // namespace npu_sim
