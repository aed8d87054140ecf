// What the simulator does not simulate says so; it never answers with zeros.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace npu_sim {

// A boxed kernel that raises NotImplementedError naming the operator.
void refuse(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

}  // namespace npu_sim
