// torch_npu's own operators (npu::...) as reference implementations in Python: the modules in references/ beside lib64/.
//
// Python imports them when the first such operator is called, and registers each as an operator of the same schema in
// the namespace below, for CPU tensors; a kernel here hands it the faces of the NPU tensors.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>

#include "cpu_kernel.h"

namespace npu_sim {

// Whether references/operators.txt names "npu::name.overload".
bool has_reference(const std::string& name);

// Whether it says that this reference checks the data types of its arguments.
bool reference_checks_types(const std::string& name);

class ReferenceKernel final : public CpuKernel {
 public:
  explicit ReferenceKernel(const c10::OperatorHandle& op);

 private:
  void compute(const c10::OperatorHandle& op, torch::jit::Stack* stack, c10::Device device) const override;
};

}  // namespace npu_sim
