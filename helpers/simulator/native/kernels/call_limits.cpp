#include "call_limits.h"

#include <ATen/ATen.h>

#include <string>
#include <unordered_map>

#include "cann_error.h"

namespace npu_sim {
namespace {

const at::Tensor& first_tensor(const torch::jit::Stack& stack, size_t first) { return stack[first].toTensor(); }

// https://gitcode.com/cann/ops-nn, 9.1.0, pooling/max_pool3d_with_argmax_v2/docs/aclnnMaxPool2dWithMask.md:
// status 161002 where dilation is not 1. Arguments: self, kernel_size, stride, padding, dilation, ...
void max_pool2d(const torch::jit::Stack& stack, size_t first) {
  const auto dilation = stack[first + 4].toIntVector();
  if (std::all_of(dilation.begin(), dilation.end(), [](int64_t d) { return d == 1; })) {
    return;
  }
  refuse_as_cann("max_pool2d_with_indices", "aclnnMaxPool2dWithMask",
                 c10::str("dilation only support 1, but got dilationH:", dilation.front(),
                          ", dilationW:", dilation.back()),
                 "max_pool2d on a real NPU (Atlas A2) takes no dilation but 1, by its documentation "
                 "(https://gitcode.com/cann, CANN 9.1.0, ops-nn, aclnnMaxPool2dWithMask.md)");
}

constexpr const char* kInPlugin = " (https://gitcode.com/Ascend/op-plugin, op_plugin/ops/opapi)";

// op_plugin/ops/opapi/SortKernelNpuOpApi.cpp
void stable_sort(const torch::jit::Stack& stack, size_t first) {
  if (first_tensor(stack, first).scalar_type() == at::kDouble) {
    refuse_as_torch_npu("Input data type should not be float64", "ERR01002 OPS invalid type",
                        std::string("torch_npu sorts no float64; use torch.float32") + kInPlugin);
  }
}

// op_plugin/ops/opapi/UpsampleBilinear2dKernelNpuOpApi.cpp; the misspelling is torch_npu's
void upsample_bilinear2d(const torch::jit::Stack& stack, size_t first) {
  if (first_tensor(stack, first).scalar_type() == at::kDouble) {
    refuse_as_torch_npu("upsample_binlinear_2d not support torch.fp64 dtypes", "ERR01002 OPS invalid type",
                        std::string("torch_npu resizes no float64; use torch.float32") + kInPlugin);
  }
}

// op_plugin/ops/opapi/LinalgSvdKernelNpuOpApi.cpp
void svd(const torch::jit::Stack& stack, size_t first) {
  const auto type = first_tensor(stack, first).scalar_type();
  if (type != at::kFloat) {
    refuse_as_torch_npu(c10::str("svd_npu only supported Float, but get", type), "ERR01002 OPS invalid type",
                        std::string("torch_npu decomposes float32 only; use torch.float32") + kInPlugin);
  }
}

}  // namespace

CallCheck call_check(const c10::OperatorHandle& op) {
  static const std::unordered_map<std::string, CallCheck> checks = {
      {"aten::max_pool2d_with_indices", max_pool2d},
      {"aten::max_pool2d_with_indices.out", max_pool2d},
      {"aten::sort.stable", stable_sort},
      {"aten::sort.values_stable", stable_sort},
      {"aten::upsample_bilinear2d", upsample_bilinear2d},
      {"aten::upsample_bilinear2d.out", upsample_bilinear2d},
      {"aten::_linalg_svd", svd},
      {"aten::_linalg_svd.U", svd}};
  const auto found = checks.find(c10::toString(op.operator_name()));
  return found == checks.end() ? nullptr : found->second;
}

}  // namespace npu_sim
