#include "hardware_limits.h"

#include <ATen/ATen.h>

#include <string>
#include <unordered_set>

namespace npu_sim {

// CANN operator reference (https://www.hiascend.com/document, aclnnMm.md, aclnnMatmul.md, aclnnConvDepthwise2d.md,
// aclnnConvTbc.md): "Atlas A2: BFLOAT16, FLOAT16, FLOAT32"; torch_npu's list of supported interfaces says the same of
// torch.mm, torch.bmm, torch.addmm and torch.nn.functional.conv2d.
bool runs_on_cube(const c10::OperatorName& op) {
  static const std::unordered_set<std::string> names = {
      "aten::convolution", "aten::convolution_backward", "aten::mm", "aten::bmm", "aten::addmm",
      "aten::addmm_", "aten::baddbmm", "aten::baddbmm_"};
  return names.count(op.name) > 0;
}

void check_cube_dtypes(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const size_t count = op.schema().arguments().size();
  for (size_t i = stack.size() - count; i < stack.size(); ++i) {
    if (!stack[i].isTensor() || !stack[i].toTensor().defined()) {
      continue;
    }
    const auto type = stack[i].toTensor().scalar_type();
    TORCH_CHECK_NOT_IMPLEMENTED(
        type == at::kFloat || type == at::kHalf || type == at::kBFloat16, op.operator_name(), " on ", type,
        ": the matrix unit of an Ascend NPU computes in float32, float16 and bfloat16 only (CANN operator reference), "
        "so this fails on a real NPU too; the simulator refuses it instead of computing it on the CPU");
  }
}

}  // namespace npu_sim
