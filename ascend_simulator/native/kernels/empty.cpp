#include "empty.h"

#include <ATen/core/Tensor.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "../shapes_only/contents.h"
#include "queue_order.h"

namespace npu_sim {

EmptyKernel::EmptyKernel(const c10::OperatorHandle& op)
    : torch_npus_(kernel_of(op, c10::DispatchKey::PrivateUse1)) {}

void EmptyKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  drain_queue(c10::impl::getDeviceGuardImpl(at::kPrivateUse1)->getDevice());
  torch_npus_.callBoxed(op, keys, stack);
  const auto& storage = stack->back().toTensor().storage();
  if (storage.nbytes() > 0) {
    sim::forget_content(storage.data(), storage.nbytes());
  }
}

}  // namespace npu_sim
