#include "by_hand.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/isfinite.h>
#include <ATen/native/Resize.h>

namespace npu_sim {
namespace {

constexpr const char* kUnscale = "aten::_amp_foreach_non_finite_check_and_unscale_";

// torch_npu keeps strides for Preserve and is contiguous for all else, channels_last included
// (torch_npu/csrc/aten/ops/op_api/CloneKernelOpApi.cpp).
at::Tensor clone(const at::Tensor& self, optional<at::MemoryFormat> format) {
  const bool preserve = format.value_or(at::MemoryFormat::Preserve) == at::MemoryFormat::Preserve;
  auto result = preserve && self.is_non_overlapping_and_dense()
      ? at::empty_strided(self.sizes(), self.strides(), self.options())
      : at::empty(self.sizes(), self.options().memory_format(at::MemoryFormat::Contiguous));
  return result.copy_(self);
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& destination) {
  at::native::resize_output(destination, self.sizes());
  return at::Tensor(destination).copy_(self);
}

// Pair by pair: tensors of one list may be on different devices (op_plugin/ops/opapi/ForeachCopyKernelNpuOpApi.cpp).
void foreach_copy(at::TensorList self, at::TensorList source, bool non_blocking) {
  TORCH_CHECK(self.size() == source.size(), "Tensor lists must have the same number of tensors, got ", self.size(),
              " and ", source.size());
  for (size_t i = 0; i < self.size(); ++i) {
    at::Tensor(self[i]).copy_(source[i], non_blocking);
  }
}

// Older releases have the gradient scaler's kernel for CUDA alone.
void unscale_gradients(at::TensorList gradients, at::Tensor& found, const at::Tensor& factor) {
  for (const at::Tensor& gradient : gradients) {
    if (!at::isfinite(gradient).all().item<bool>()) {
      found.fill_(1.0);
    }
    at::Tensor(gradient).mul_(factor.item<double>());
  }
}

}  // namespace

void register_copies(torch::Library& aten) {
  const auto scaler = c10::Dispatcher::singleton().findSchema({kUnscale, ""});
  if (scaler && !scaler->hasKernelForDispatchKey(c10::DispatchKey::CPU)) {
    aten.impl(kUnscale, TORCH_FN(unscale_gradients));
  }
  aten.impl("_foreach_copy_", TORCH_FN(foreach_copy));
  aten.impl("clone", TORCH_FN(clone));
  aten.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
}

}  // namespace npu_sim
