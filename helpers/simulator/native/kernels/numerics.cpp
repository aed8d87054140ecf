#include "numerics.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>

#include "device_memory.h"
#include "torch_npu_options.h"

namespace npu_sim {
namespace {

constexpr const char* kVariable = "ASCEND_WORKBOOK_SIM_NUMERICS";
bool ascend = false;

const std::unordered_map<std::string, MatrixUnit>& operators() {
  static const std::unordered_map<std::string, MatrixUnit> units = {
      {"aten::mm", {false, {0, 1}}},
      {"aten::bmm", {false, {0, 1}}},
      {"aten::mv", {false, {0, 1}}},
      {"aten::addmm", {false, {1, 2}}},
      {"aten::addmm_", {false, {1, 2}}},
      {"aten::addmv", {false, {1, 2}}},
      {"aten::addmv_", {false, {1, 2}}},
      {"aten::addbmm", {false, {1, 2}}},
      {"aten::addbmm_", {false, {1, 2}}},
      {"aten::baddbmm", {false, {1, 2}}},
      {"aten::baddbmm_", {false, {1, 2}}},
      {"aten::convolution", {true, {0, 1}}},  // the bias is added in float32
      {"aten::convolution_backward", {true, {0, 1, 2}}},
      {"aten::_slow_conv2d_forward", {true, {0, 1}}},
      {"aten::slow_conv3d_forward", {true, {0, 1}}},
      {"aten::slow_conv_transpose2d", {true, {0, 1}}},
      {"aten::slow_conv_transpose3d", {true, {0, 1}}},
      {"aten::slow_conv_dilated2d", {true, {0, 1}}},
      {"aten::conv_tbc", {true, {0, 1}}}};
  return units;
}

// Each element of a float32 tensor rounded to HF32 in place, ties to even: 12 of 23 bits of mantissa go.
at::Tensor round_to_hf32(at::Tensor tensor) {
  auto* bits = reinterpret_cast<uint32_t*>(tensor.mutable_data_ptr<float>());
  constexpr uint32_t dropped = 12, exponent = 0x7f800000u;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if ((bits[i] & exponent) != exponent) {
      const uint32_t odd = (bits[i] >> dropped) & 1u;
      bits[i] = (bits[i] + ((1u << (dropped - 1)) - 1) + odd) & ~((1u << dropped) - 1);
    }
  }
  return tensor;
}

// The layout matters: a channels_last input takes another CPU kernel than a contiguous one.
at::Tensor rounded(const at::Tensor& tensor, CubeMath math) {
  if (math == CubeMath::float16) {
    return tensor.to(at::kHalf).to(at::kFloat);
  }
  const bool dense = tensor.is_non_overlapping_and_dense();
  auto copy = at::empty_strided(tensor.sizes(), dense ? tensor.strides() : tensor.contiguous().strides(),
                                tensor.options());
  return round_to_hf32(copy.copy_(tensor));
}

}  // namespace

void read_numerics() {
  const char* value = std::getenv(kVariable);
  const std::string asked = value == nullptr ? "" : value;
  TORCH_CHECK_VALUE(asked.empty() || asked == "cpu" || asked == "ascend", kVariable,
                    ": expected cpu or ascend, got \"", asked, "\"");
  TORCH_CHECK_VALUE(std::getenv("ASCEND_WORKBOOK_SIM_HF32") == nullptr,
                    "ASCEND_WORKBOOK_SIM_HF32 is no longer read: ", kVariable, "=ascend rounds to HF32");
  ascend = asked == "ascend";
  if (ascend) {
    std::fprintf(stderr, "NPU simulator: numerics=ascend: HF32 where torch_npu allows it\n");
  }
}

std::optional<MatrixUnit> matrix_unit_of(const c10::OperatorHandle& op) {
  const auto found = operators().find(op.operator_name().name);
  // overloads "dtype", "dtype_out": half inputs and a float32 result, for which the CPU has no kernel
  const bool other_result = op.operator_name().overload_name.rfind("dtype", 0) == 0;
  return ascend && found != operators().end() && !other_result ? std::make_optional(found->second) : std::nullopt;
}

void round_inputs(const MatrixUnit& unit, torch::jit::Stack* stack, size_t first) {
  const CubeMath math = unit.convolution ? convolution_math() : matmul_math();
  AllocateOnNpu host(false);  // the unit rounds what it reads; there is no copy in device memory
  for (const size_t input : unit.inputs) {
    auto& value = (*stack)[first + input];
    if (math != CubeMath::as_given && value.toTensor().defined() && value.toTensor().scalar_type() == at::kFloat) {
      value = rounded(value.toTensor(), math);
    }
  }
}

}  // namespace npu_sim

// "ascend" or "cpu".
extern "C" __attribute__((visibility("default"))) const char* npu_sim_numerics() {
  return npu_sim::ascend ? "ascend" : "cpu";
}
