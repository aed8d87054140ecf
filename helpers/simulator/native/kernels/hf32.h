// Honest noise, such as hardware has and a fault is not.
//
// ASCEND_WORKBOOK_SIM_HF32=1: the float32 inputs of convolutions, forward and backward, are rounded to HF32, which an
// Ascend A2 does by default (torch_npu.npu.conv.allow_hf32): the range of float32 with 11 bits of mantissa
// (https://www.hiascend.com/document, ATC parameter --allow_hf32).
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace npu_sim {

// Reads the variable and says on stderr if rounding is on; throws c10::Error on a malformed value.
void read_hf32();

// How many leading arguments of the operator are rounded to HF32: 0 unless it is a convolution and asked for.
size_t hf32_arguments(const c10::OperatorName& op);

// A copy of a float32 tensor, each element rounded to HF32, ties to even.
at::Tensor rounded_to_hf32(const at::Tensor& tensor);

}  // namespace npu_sim
