// One call of a simulated kernel while its stream is captured: what it takes to run it again on the same memory.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <vector>

#include "../recording/graphs.h"
#include "torch_api.h"

namespace npu_sim {

class CpuKernel;

class GraphTask {
 public:
  // nullopt where the current stream is not captured. Raises what a real NPU says of a call that no graph can hold.
  // The arguments end the stack; what the call writes to is kept, for capturing changes nothing.
  static optional<GraphTask> begin(const CpuKernel& kernel, const c10::OperatorHandle& op,
                                        const torch::jit::Stack& stack, c10::Device device);

  // Hands the task to the graph; the kernel's results end the stack.
  void end(const torch::jit::Stack& stack);

 private:
  GraphTask(const CpuKernel& kernel, const c10::OperatorHandle& op, c10::Device device)
      : kernel_(&kernel), op_(op), device_(device) {}

  int run() const;

  const CpuKernel* kernel_;
  c10::OperatorHandle op_;
  c10::Device device_;
  void* stream_ = nullptr;
  sim::Graph* graph_ = nullptr;
  torch::jit::Stack given_;         // as they were handed in, until the call ends
  std::vector<at::IValue> arguments_;  // CPU tensors over the same memory, which they do not own
  std::vector<at::IValue> results_;    // the same; None where a result is an argument
};

// A generator for a call while it is captured, whose numbers nobody sees.
at::Generator generator_of_capture();

}  // namespace npu_sim
