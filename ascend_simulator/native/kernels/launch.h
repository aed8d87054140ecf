// One call of a simulated kernel while the profiler runs: its launch passes through torch_npu's task queue, as every
// operator of torch_npu does, so that torch_npu's own marks tell which operator launched which kernel.
#pragma once

#include <ATen/core/stack.h>
#include <ATen/record_function.h>
#include <c10/core/Device.h>

#include <string>

#include "../recording/recording.h"

namespace npu_sim {

class Launch {
 public:
  // Hands the launch to the queue of the current device's current stream. The arguments end the stack.
  Launch(const std::string& name, c10::Device device, const torch::jit::Stack& stack, size_t arguments);

  void begin() { task_.start_ns = sim::record_clock_ns(); }
  // The kernel's results end the stack.
  void end(const torch::jit::Stack& stack, size_t results);

 private:
  // An NPU's kernel has no operators inside it; those of PyTorch's CPU kernel, and the one that RunOpApiV2 would add, are
  // no part of the program that is profiled.
  at::DisableRecordFunctionGuard no_operators_inside_;
  sim::Task task_;
};

// Whether the operator only describes memory anew (a view, or a shape changed in place): no kernel on any device.
bool moves_no_data(const c10::FunctionSchema& schema);

}  // namespace npu_sim
