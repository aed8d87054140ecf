#include "copies.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/roll.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/native/Resize.h>

#include <numeric>

namespace npu_sim {
namespace {

// torch_npu keeps strides for Preserve and is contiguous for all else, channels_last included
// (torch_npu/csrc/aten/ops/op_api/CloneKernelOpApi.cpp).
at::Tensor clone(const at::Tensor& self, std::optional<at::MemoryFormat> format) {
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

// op_plugin/ops/opapi/FFTShiftKernelNpuOpApi.cpp: CANN rolls no complex64, so torch_npu rolls it as another type.
at::Tensor roll_complex(const at::Tensor& self, at::IntArrayRef shifts, at::IntArrayRef dims) {
  if (self.scalar_type() != at::kComplexFloat) {
    return at::roll(self, shifts, dims);
  }
  return at::view_as_complex(at::roll(at::view_as_real(self.resolve_conj()), shifts, dims));
}

at::Tensor shifted(const at::Tensor& self, at::OptionalIntArrayRef given, int64_t rest) {
  std::vector<int64_t> dims = given.has_value() ? given->vec() : std::vector<int64_t>(self.dim());
  if (!given.has_value()) {
    std::iota(dims.begin(), dims.end(), 0);
  }
  std::vector<int64_t> shifts;
  for (int64_t& dim : dims) {
    dim = at::maybe_wrap_dim(dim, self.dim(), false);
    shifts.push_back((self.size(dim) + rest) / 2);
  }
  return roll_complex(self, shifts, dims);
}

at::Tensor fftshift(const at::Tensor& self, at::OptionalIntArrayRef dim) { return shifted(self, dim, 0); }

at::Tensor ifftshift(const at::Tensor& self, at::OptionalIntArrayRef dim) { return shifted(self, dim, 1); }

}  // namespace

void register_shifts(torch::Library& aten, torch::Library& autograd) {
  for (auto* library : {&aten, &autograd}) {
    library->impl("fft_fftshift", TORCH_FN(fftshift));
    library->impl("fft_ifftshift", TORCH_FN(ifftshift));
  }
}

void register_copies(torch::Library& aten) {
  aten.impl("_foreach_copy_", TORCH_FN(foreach_copy));
  aten.impl("clone", TORCH_FN(clone));
  aten.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
}

}  // namespace npu_sim
