// Attention as one operator: where an NPU takes its fused kernel for scaled_dot_product_attention, so does this device.
#pragma once

#include <string>

#include "cpu_kernel.h"

namespace npu_sim {

// PyTorch's fused kernel for the CPU, forward or backward: it stands for the NPU's, and is nobody's CPU fallback.
bool is_fused_attention(const c10::OperatorHandle& op);

// The operator's own name, or that of the NPU's for which it stands.
std::string name_on_npu(const c10::OperatorHandle& op);

// choose_fused_attention lets only the NPU's data types come here.
class FusedAttention final : public CpuKernel {
 public:
  explicit FusedAttention(const c10::OperatorHandle& op);

 private:
  size_t kept_for_gradient(const torch::jit::Stack& stack, size_t first) const override;

  bool forward_;
};

void choose_fused_attention();

}  // namespace npu_sim
