#include "composite_kernel.h"

namespace npu_sim {

// AutogradHPU: a backend for which this process registers nothing, so its entry is PyTorch's stock one.
StockAutogradKernel::StockAutogradKernel(const c10::OperatorHandle& op)
    : stock_(kernel_of(op, c10::DispatchKey::AutogradHPU)),
      limits_(op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) ? dtype_limits(op) : nullptr),
      call_check_(op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) ? call_check(op) : nullptr) {}

void StockAutogradKernel::check_hardware(const c10::OperatorHandle& op, const torch::jit::Stack& stack) const {
  const auto& arguments = op.schema().arguments();
  const size_t first = stack.size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& value = stack[first + i];
    if (value.isTensor() && value.toTensor().defined() && value.toTensor().device().type() == at::kPrivateUse1 &&
        !takes(*limits_, i, value.toTensor())) {
      refuse_tensor(*limits_, c10::toString(op.operator_name()), arguments[i].name(), i, value.toTensor());
    }
  }
}

void StockAutogradKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                     torch::jit::Stack* stack) {
  if (limits_) {
    check_hardware(op, *stack);
  }
  if (call_check_ != nullptr) {
    call_check_(*stack, stack->size() - op.schema().arguments().size());
  }
  stock_.callBoxed(op, keys, stack);
}

}  // namespace npu_sim
