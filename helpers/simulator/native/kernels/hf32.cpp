#include "hf32.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace npu_sim {
namespace {

constexpr const char* kVariable = "ASCEND_WORKBOOK_SIM_HF32";
bool hf32 = false;

}  // namespace

void read_hf32() {
  const char* value = std::getenv(kVariable);
  const std::string asked = value == nullptr ? "" : value;
  TORCH_CHECK_VALUE(asked.empty() || asked == "0" || asked == "1", kVariable, ": expected 0 or 1, got \"", asked, "\"");
  hf32 = asked == "1";
  if (hf32) {
    std::fprintf(stderr, "NPU simulator: inputs of convolutions are rounded to HF32\n");
  }
}

size_t hf32_arguments(const c10::OperatorName& op) {
  if (!hf32) {
    return 0;
  }
  if (op.name == "aten::convolution") {
    return 2;  // input, weight; the bias is added in float32
  }
  return op.name == "aten::convolution_backward" ? 3 : 0;  // grad_output, input, weight
}

at::Tensor rounded_to_hf32(const at::Tensor& tensor) {
  auto result = tensor.clone();
  auto flat = result.as_strided({static_cast<int64_t>(result.storage().nbytes() / sizeof(float))}, {1}, 0);
  auto* bits = reinterpret_cast<uint32_t*>(flat.mutable_data_ptr<float>());
  constexpr uint32_t dropped = 12, exponent = 0x7f800000u;  // 23 - 11 bits of mantissa
  for (int64_t i = 0; i < flat.numel(); ++i) {
    if ((bits[i] & exponent) != exponent) {
      const uint32_t odd = (bits[i] >> dropped) & 1u;
      bits[i] = (bits[i] + ((1u << (dropped - 1)) - 1) + odd) & ~((1u << dropped) - 1);
    }
  }
  return result;
}

}  // namespace npu_sim
