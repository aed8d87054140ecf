// Limits of a call beyond its data types: arguments that CANN or torch_npu refuses.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace npu_sim {

// Raises where a real NPU would; `first` is the place of the first argument on the stack.
using CallCheck = void (*)(const torch::jit::Stack& stack, size_t first);

// nullptr where no such limit is known.
CallCheck call_check(const c10::OperatorHandle& op);

}  // namespace npu_sim
