// Large tensors on the host in a run of shapes only: a model that is built on the CPU costs no memory. Initialisers, casts
// and copies reserve what they would write, on addresses that no page lies behind yet; what is not one of the operators of
// traits.txt (lazy_on_host) reads zeros there.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "shapes_only.h"
#include "torch_api.h"

namespace npu_sim {

class LazyHostKernel final : public c10::OperatorKernel {
 public:
  explicit LazyHostKernel(const c10::OperatorHandle& op);
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  bool begins_large(const torch::jit::Stack& stack, size_t first) const;

  KeptKernel ordinary_;
  ShapesOnly shapes_only_;
  bool begins_;
};

// Puts these kernels before PyTorch's own.
void register_lazy_host();

// Memory of the host for one large tensor.
c10::DataPtr reserve_on_host(size_t nbytes);
// The same for one that is written; `allocator` gives and takes the memory.
c10::DataPtr watch_on_host(c10::Allocator& allocator, size_t nbytes);
// Gives it back; false where the address is not the start of such memory.
bool release_on_host(void* pointer);

}  // namespace npu_sim
