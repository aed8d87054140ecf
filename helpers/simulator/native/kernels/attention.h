// Attention as one operator: where an NPU takes its fused kernel for scaled_dot_product_attention, so does this device.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace npu_sim {

// PyTorch's fused kernel for the CPU, forward or backward: it stands for the NPU's, and is nobody's CPU fallback.
bool is_fused_attention(const c10::OperatorHandle& op);

void choose_fused_attention();

}  // namespace npu_sim
