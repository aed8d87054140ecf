// What an Ascend NPU's matrix unit (the cube) does to numbers and a CPU does not. Off unless asked for:
//
// ASCEND_WORKBOOK_SIM_NUMERICS=ascend (cpu, or unset: the CPU kernel's own numbers)
//
//   float32 inputs are rounded to HF32 (the range of float32, 11 bits of mantissa; ATC's --allow_hf32) where torch_npu
//   asks for it at that moment: convolutions by torch.npu.conv.allow_hf32 (on by default), matrix products by
//   torch.npu.matmul.allow_hf32 (off by default) or torch.npu.matmul.cube_math_type. Ties go to even, as Ascend C's
//   Matmul::SetHF32 does by default.
//
// Sources: https://www.hiascend.com/document: torch_npu.npu.conv.allow_hf32 and torch_npu.npu.matmul.allow_hf32; aclnnMm
// (cubeMathType); Ascend C API, SetHF32. Which operators ask: Ascend/op-plugin, op_plugin/ops/opapi.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <vector>

#include "torch_api.h"

namespace npu_sim {

// The arguments that enter the matrix unit, by index, and whose switch they obey.
struct MatrixUnit {
  bool convolution;
  std::vector<size_t> inputs;
};

// Reads the variable and says on stderr if it is on; throws c10::Error on a malformed value.
void read_numerics();

// Nothing unless numerics are Ascend's and the operator runs on the matrix unit.
optional<MatrixUnit> matrix_unit_of(const c10::OperatorHandle& op);

// Replaces the float32 inputs on the stack, from `first` on, by what the matrix unit reads at this moment.
void round_inputs(const MatrixUnit& unit, torch::jit::Stack* stack, size_t first);

}  // namespace npu_sim
