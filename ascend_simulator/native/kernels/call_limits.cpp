#include "call_limits.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include "cann_error.h"
#include "traits.h"

namespace npu_sim {
namespace {

const at::Tensor& first_tensor(const torch::jit::Stack& stack, size_t first) { return stack[first].toTensor(); }

// torch.nn.functional.max_pool2d in https://gitcode.com/Ascend/pytorch, docs/zh/api/native_api: dilation is 1. Arguments: self, kernel_size, stride, padding, dilation, ...
void max_pool2d(const torch::jit::Stack& stack, size_t first) {
  const auto dilation = stack[first + 4].toIntVector();
  if (std::all_of(dilation.begin(), dilation.end(), [](int64_t d) { return d == 1; })) {
    return;
  }
  refuse_as_cann("max_pool2d_with_indices", "aclnnMaxPool2dWithMask",
                 c10::str("dilation only support 1, but got dilationH:", dilation.front(),
                          ", dilationW:", dilation.back()),
                 "max_pool2d on a real NPU (Atlas A2) takes no dilation but 1, by its documentation "
                 "(https://gitcode.com/Ascend/pytorch, docs/zh/api/native_api)");
}

constexpr const char* kInPlugin = " (https://gitcode.com/Ascend/op-plugin, op_plugin/ops/opapi)";

void refuse_double(const torch::jit::Stack& stack, size_t first, const char* why, const char* note) {
  if (first_tensor(stack, first).scalar_type() == at::kDouble) {
    refuse_as_torch_npu(why, "ERR01002 OPS invalid type", std::string(note) + kInPlugin);
  }
}

// op_plugin/ops/opapi/SortKernelNpuOpApi.cpp
void stable_sort(const torch::jit::Stack& stack, size_t first) {
  refuse_double(stack, first, "Input data type should not be float64", "torch_npu sorts no float64; use torch.float32");
}

// op_plugin/ops/opapi/UpsampleBilinear2dKernelNpuOpApi.cpp; the misspelling is torch_npu's
void upsample_bilinear2d(const torch::jit::Stack& stack, size_t first) {
  refuse_double(stack, first, "upsample_binlinear_2d not support torch.fp64 dtypes",
                "torch_npu resizes no float64; use torch.float32");
}

// op_plugin/ops/opapi/LinalgSvdKernelNpuOpApi.cpp
void svd(const torch::jit::Stack& stack, size_t first) {
  const auto type = first_tensor(stack, first).scalar_type();
  if (type != at::kFloat) {
    refuse_as_torch_npu(c10::str("svd_npu only supported Float, but get", type), "ERR01002 OPS invalid type",
                        std::string("torch_npu decomposes float32 only; use torch.float32") + kInPlugin);
  }
}

// op_plugin/utils/KernelNpuOutputSize.cpp, make_dim_mask: an error of parameters, where PyTorch has an IndexError.
void reduced_dims(const torch::jit::Stack& stack, size_t first) {
  const auto& given = stack[first + 1];
  const auto dims = given.isIntList() ? given.toIntVector()
                    : given.isInt()   ? std::vector<int64_t>{given.toInt()}
                                      : std::vector<int64_t>{};
  const int64_t count = std::max<int64_t>(first_tensor(stack, first).dim(), 1);
  for (const int64_t dim : dims) {
    if (dim < -count || dim >= count) {
      refuse_as_torch_npu(c10::str("Dimension out of range (expected to be in range of [", -count, ", ", count - 1,
                                   "], but got ", dim, ")"),
                          "ERR01001 OPS invalid parameter", "torch_npu's own check, a RuntimeError");
    }
  }
}

// op_plugin/ops/opapi/AdaptiveAvgPool2dKernelNpuOpApi.cpp
void adaptive_avg_pool2d(const torch::jit::Stack& stack, size_t first) {
  const auto size = stack[first + 1].toIntVector();
  if (size.size() != 2) {
    refuse_as_torch_npu("adaptive_avg_pool2d: output size must be 2.", "ERR01001 OPS invalid parameter",
                        c10::str("torch_npu's own check; the size given has ", size.size(), " elements"));
  }
}

// op_plugin/ops/opapi/FusedSgdKernelOpApi.cpp. Arguments: self, grads, momentum_buffer_list, weight_decay, momentum, ...
void fused_sgd(const torch::jit::Stack& stack, size_t first) {
  const double momentum = stack[first + 4].toDouble();
  if (!(momentum > 0)) {
    refuse_as_torch_npu(c10::str("momentum must be positive, but got ", momentum), "",
                        std::string("torch_npu's fused SGD needs a momentum; use foreach=True") + kInPlugin);
  }
}

// op_plugin/ops/opapi/AmpForeachNonFiniteCheckAndUnscaleKernelNpuOpApi.cpp. Arguments: self, found_inf, inv_scale.
void unscale(const torch::jit::Stack& stack, size_t first) {
  for (const auto& [index, name] : {std::pair(2, "inv_scale"), std::pair(1, "found_inf")}) {
    if (stack[first + index].toTensor().scalar_type() != at::kFloat) {
      refuse_as_torch_npu(c10::str(name, " must be a float tensor"), "ERR01002 OPS invalid type",
                          std::string("torch_npu's own check") + kInPlugin);
    }
  }
}

// op_plugin/ops/opapi/IsInKernelNpuOpApi.cpp: many values are sorted, few are compared.
void isin(const torch::jit::Stack& stack, size_t first) {
  const auto &elements = stack[first].toTensor(), &tested = stack[first + 1].toTensor();
  const double few = 10.0 * std::pow(static_cast<double>(elements.numel()), 0.145);
  const auto type = c10::promoteTypes(elements.scalar_type(), tested.scalar_type());
  if (type == at::kDouble && elements.numel() > 0 && static_cast<double>(tested.numel()) >= few) {
    refuse_as_torch_npu("Input data type should not be float64", "ERR01002 OPS invalid type",
                        std::string("torch_npu sorts many values, and no float64; use torch.float32") + kInPlugin);
  }
}

// op_plugin/ops/opapi/RangeKernelNpuOpApi.cpp; PyTorch's CPU kernel divides by such a step and ends the process.
void range_out(const torch::jit::Stack& stack, size_t first) {
  const auto step = stack[first + 2].toScalar();
  const bool whole = at::isIntegralType(stack[first + 3].toTensor().scalar_type(), true);
  if (step.isFloatingPoint() ? (whole ? std::trunc(step.toDouble()) : step.toDouble()) == 0 : step.equal(0)) {
    refuse_as_torch_npu("step must be nonzero", "ERR01003 OPS invalid value",
                        std::string("a step below 1 is 0 in an integer type") + kInPlugin);
  }
}

}  // namespace

CallCheck call_check(const c10::OperatorHandle& op) {
  static const std::unordered_map<std::string, CallCheck> checks = {
      {"aten::max_pool2d_with_indices", max_pool2d},
      {"aten::max_pool2d_with_indices.out", max_pool2d},
      {"aten::adaptive_avg_pool2d", adaptive_avg_pool2d},
      {"aten::adaptive_avg_pool2d.out", adaptive_avg_pool2d},
      {"aten::sort.stable", stable_sort},
      {"aten::sort.values_stable", stable_sort},
      {"aten::upsample_bilinear2d", upsample_bilinear2d},
      {"aten::upsample_bilinear2d.out", upsample_bilinear2d},
      {"aten::_fused_sgd_", fused_sgd},
      {"aten::_fused_sgd_.tensor_lr", fused_sgd},
      {"aten::_amp_foreach_non_finite_check_and_unscale_", unscale},
      {"aten::range.out", range_out},
      {"aten::isin.Tensor_Tensor", isin},
      {"aten::isin.Tensor_Tensor_out", isin},
      {"aten::_linalg_svd", svd},
      {"aten::_linalg_svd.U", svd}};
  if (has_trait("reduced_dims", c10::toString(op.operator_name()))) {
    return reduced_dims;
  }
  const auto found = checks.find(c10::toString(op.operator_name()));
  return found == checks.end() ? nullptr : found->second;
}

}  // namespace npu_sim
