#include "attention.h"

#if TORCH_HAS_ATTENTION_CHOICE
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <ATen/ops/_fused_sdp_choice_ops.h>
#endif

#include "../shapes_only/contents.h"

namespace npu_sim {
#if TORCH_HAS_ATTENTION_CHOICE
namespace {

// Where torch_npu calls npu_fusion_attention_v3 on a 910B (op_plugin/ops/opapi/ScaledDotProductAttentionKernelNpuOpApi.cpp);
// elsewhere it takes the formula apart as PyTorch does.
constexpr int64_t kLayoutDims = 4, kFloatUnit = 4;

bool npu_fuses(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
               const optional<at::Tensor>& mask) {
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
               const optional<at::Tensor>& mask, double dropout, bool causal, optional<double> scale, bool grouped) {
  if (!npu_fuses(query, key, value, mask)) {
    return static_cast<int64_t>(sdp::SDPBackend::math);
  }
  // The CPU's kernel has no dropout, the NPU's does: where nothing is computed the NPU's memory is what counts.
  return at::_ops::_fused_sdp_choice::redispatch(c10::DispatchKeySet(c10::DispatchKey::CPU), query, key, value, mask,
                                                 sim::shapes_only() ? 0 : dropout, causal, scale, grouped);
}

}  // namespace

void choose_fused_attention() { at::native::_fused_sdp_choice_stub.set_privateuse1_dispatch_ptr(&choose); }
#else
void choose_fused_attention() {}  // attention is taken apart: this torch lets no other device choose
#endif

bool is_fused_attention(const c10::OperatorHandle& op) {
  return op.operator_name().name.rfind("aten::_scaled_dot_product_flash_attention_for_cpu", 0) == 0;
}

FusedAttention::FusedAttention(const c10::OperatorHandle& op)
    : CpuKernel(op), forward_(op.operator_name().name.find("backward") == std::string::npos) {
  types_are_known();
}

// npu_fusion_attention keeps softmax_max and softmax_sum, each [B, N, S, 8] of float32, and the mask that it was given or
// made: torch_npu negates a mask of the caller's, and makes one of 2048 x 2048 for a causal call
// (op_plugin/ops/opapi/ScaledDotProductAttentionKernelNpuOpApi.cpp). The CPU's kernel keeps one float32 of [B, N, S].
size_t FusedAttention::kept_for_gradient(const torch::jit::Stack& stack, size_t first) const {
  if (!forward_) {
    return 0;
  }
  constexpr size_t kSums = 2, kColumns = 8, kCausalMask = size_t{2048} * 2048;
  const auto& query = stack[first].toTensor();
  const auto mask = stack[first + 5].toOptional<at::Tensor>();
  const size_t mask_bytes = mask && mask->defined() ? mask->numel() : stack[first + 4].toBool() ? kCausalMask : 0;
  return query.numel() / std::max<int64_t>(query.size(-1), 1) * kSums * kColumns * sizeof(float) + mask_bytes;
}

std::string name_on_npu(const c10::OperatorHandle& op) {
  if (!is_fused_attention(op)) {
    return c10::toString(op.operator_name());
  }
  const bool backward = op.operator_name().name.find("backward") != std::string::npos;
  return backward ? "npu::npu_fusion_attention_grad_v3" : "npu::npu_fusion_attention_v3";
}

}  // namespace npu_sim
