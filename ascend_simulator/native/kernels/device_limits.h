// Which operators torch_npu holds to one device, and its words where a tensor lies elsewhere.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>

namespace npu_sim {

// Reads device_checks.txt of the simulator's folder; throws c10::Error if it is missing.
void read_device_checks();

// torch_npu's generated wrapper that compares the devices of this operator's tensors; empty where none does, so that
// a scalar on the CPU is taken.
std::string device_check(const c10::OperatorHandle& op);

// RuntimeError: `tensor` does not lie on `expected`. `wrapper` is what device_check gave for `op`.
[[noreturn]] void refuse_device(const std::string& wrapper, const std::string& op, const std::string& argument,
                                const at::Tensor& tensor, c10::Device expected);

}  // namespace npu_sim
