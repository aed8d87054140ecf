#include "numerics.h"

#include <ATen/ATen.h>

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

// The type that a call's floating-point tensors share; nothing where they differ, which is the CPU kernel's to refuse.
std::optional<at::ScalarType> common_type(const torch::jit::Stack& stack, size_t first) {
  std::optional<at::ScalarType> type;
  for (size_t i = first; i < stack.size(); ++i) {
    if (!stack[i].isTensor() || !stack[i].toTensor().defined() || !stack[i].toTensor().is_floating_point()) {
      continue;
    }
    if (type && *type != stack[i].toTensor().scalar_type()) {
      return std::nullopt;
    }
    type = stack[i].toTensor().scalar_type();
  }
  return type;
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

void compute(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
}

void compute_float(const MatrixUnit& unit, const c10::OperatorHandle& op, torch::jit::Stack* stack, size_t first) {
  const CubeMath math = unit.convolution ? convolution_math() : matmul_math();
  if (math != CubeMath::as_given) {
    AllocateOnNpu host(false);  // the unit rounds what it reads; there is no copy in device memory
    for (const size_t input : unit.inputs) {
      auto& value = (*stack)[first + input];
      if (value.toTensor().defined()) {
        value = rounded(value.toTensor(), math);
      }
    }
  }
  compute(op, stack);
}

struct Written {
  at::Tensor narrow, wide;
};

// Arguments in float32; those that the operator writes to are listed with their originals.
std::vector<Written> widen(const c10::OperatorHandle& op, torch::jit::Stack* stack, size_t first) {
  std::vector<Written> written;
  for (size_t i = first; i < stack->size(); ++i) {
    auto& value = (*stack)[i];
    if (!value.isTensor() || !value.toTensor().defined() || !value.toTensor().is_floating_point()) {
      continue;
    }
    const at::Tensor narrow = value.toTensor();
    value = narrow.to(at::kFloat);
    const auto* alias = op.schema().arguments()[i - first].alias_info();
    if (alias != nullptr && alias->isWrite()) {
      written.push_back({narrow, value.toTensor()});
    }
  }
  return written;
}

at::Tensor narrowed(const at::Tensor& result, const std::vector<Written>& written, at::ScalarType type) {
  for (const auto& pair : written) {
    if (pair.wide.is_same(result)) {
      at::Tensor narrow = pair.narrow;
      return narrow.resize_(result.sizes()).copy_(result);
    }
  }
  return result.defined() ? result.to(type) : result;
}

void compute_half(const c10::OperatorHandle& op, torch::jit::Stack* stack, size_t first, at::ScalarType type) {
  std::vector<Written> written;
  {
    AllocateOnNpu host(false);  // the unit's accumulator is its own, no device memory
    written = widen(op, stack, first);
    compute(op, stack);
  }
  for (size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i) {
    (*stack)[i] = narrowed((*stack)[i].toTensor(), written, type);
  }
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
    std::fprintf(stderr, "NPU simulator: numerics=ascend: HF32 where torch_npu allows it, halves summed in float32\n");
  }
}

std::optional<MatrixUnit> matrix_unit_of(const c10::OperatorHandle& op) {
  const auto found = operators().find(op.operator_name().name);
  // overloads "dtype", "dtype_out": half inputs and a float32 result, for which the CPU has no kernel
  const bool other_result = op.operator_name().overload_name.rfind("dtype", 0) == 0;
  return ascend && found != operators().end() && !other_result ? std::make_optional(found->second) : std::nullopt;
}

void compute_on_matrix_unit(const MatrixUnit& unit, const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const size_t first = stack->size() - op.schema().arguments().size();
  const auto type = common_type(*stack, first);
  if (type == at::kFloat) {
    return compute_float(unit, op, stack, first);
  }
  if (type == at::kHalf || type == at::kBFloat16) {
    return compute_half(op, stack, first, *type);
  }
  compute(op, stack);
}

}  // namespace npu_sim

// "ascend" or "cpu".
extern "C" __attribute__((visibility("default"))) const char* npu_sim_numerics() {
  return npu_sim::ascend ? "ascend" : "cpu";
}
