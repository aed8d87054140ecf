// New memory in a run of shapes only: it holds nothing that an earlier tensor's marks would say.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "torch_api.h"

namespace npu_sim {

// torch_npu's own kernel that makes a tensor; what the memory held before is forgotten.
class EmptyKernel final : public c10::OperatorKernel {
 public:
  explicit EmptyKernel(const c10::OperatorHandle& op);
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  KeptKernel torch_npus_;
};

}  // namespace npu_sim
