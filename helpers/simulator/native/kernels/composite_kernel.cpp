#include "composite_kernel.h"

namespace npu_sim {

// AutogradHPU: a backend for which this process registers nothing, so its entry is PyTorch's stock one.
StockAutogradKernel::StockAutogradKernel(const c10::OperatorHandle& op)
    : stock_(op.getComputedKernelForDispatchKey(c10::DispatchKey::AutogradHPU)) {}

void StockAutogradKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                     torch::jit::Stack* stack) {
  stock_.callBoxed(op, keys, stack);
}

}  // namespace npu_sim
