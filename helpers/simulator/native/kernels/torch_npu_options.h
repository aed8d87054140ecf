// Switches of torch_npu that decide how the matrix unit reads float32, as they stand at the moment of the call.
#pragma once

namespace npu_sim {

// How the matrix unit takes float32 inputs (aclnnMm, cubeMathType).
enum class CubeMath { as_given, hf32, float16 };

CubeMath convolution_math();  // torch.npu.conv.allow_hf32: on unless it says "disable"
CubeMath matmul_math();       // torch.npu.matmul.cube_math_type where set, else allow_hf32: off unless it says "enable"

}  // namespace npu_sim
