#include "by_hand.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>

#include "../shapes_only/contents.h"
#include "reads.h"

namespace npu_sim {
namespace {

using OptionalInt = std::optional<int64_t>;

// Private memory layouts (NC1HWC0, FRACTAL_NZ, ...) do not exist here: a format cast keeps the values, and
// get_npu_format goes on answering ND.
at::Tensor format_cast(const at::Tensor& self, int64_t, OptionalInt, OptionalInt) { return self.clone(); }

at::Tensor format_cast_like(const at::Tensor& self, const at::Tensor&, OptionalInt, OptionalInt) {
  return self.clone();
}

at::Tensor& format_cast_inplace(at::Tensor& self, int64_t, OptionalInt, OptionalInt) { return self; }

at::Tensor& format_cast_inplace_like(at::Tensor& self, const at::Tensor&, OptionalInt, OptionalInt) { return self; }

at::Tensor plain_format_cast(const at::Tensor& self, int64_t) { return self.clone(); }

at::Tensor dtype_cast_by_number(const at::Tensor& self, int64_t dtype, OptionalInt) {
  return self.to(static_cast<at::ScalarType>(dtype));
}

at::Tensor dtype_cast(const at::Tensor& self, at::ScalarType dtype) { return self.to(dtype); }

at::Tensor& dtype_cast_inplace(at::Tensor& self, const at::Tensor& source) { return self.copy_(source); }

at::Tensor dtype_cast_backward(const at::Tensor& grad, at::ScalarType dtype, OptionalInt, OptionalInt) {
  return grad.to(dtype);
}

at::Tensor& copy_memory(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  return self.copy_(source, non_blocking);
}

bool any_not_finite(at::TensorList gradients) {
  for (const auto& gradient : gradients) {
    if (sim::is_modelled(gradient.storage().data(), gradient.storage().nbytes())) {
      const auto told = note_read({"npu::_amp_foreach_non_finite_check", at::kBool, {}, 0.0});
      return told && *told != 0;
    }
  }
  for (const auto& gradient : gradients) {
    if (!at::isfinite(gradient).all().item<bool>()) {
      return true;
    }
  }
  return false;
}

}  // namespace

void register_npu_operators(torch::Library& npu) {
  npu.impl("npu_format_cast", TORCH_FN(format_cast));
  npu.impl("npu_format_cast.Tensor", TORCH_FN(format_cast_like));
  npu.impl("npu_format_cast_.acl_format", TORCH_FN(format_cast_inplace));
  npu.impl("npu_format_cast_", TORCH_FN(format_cast_inplace_like));
  npu.impl("_npu_format_cast", TORCH_FN(plain_format_cast));
  npu.impl("npu_dtype_cast", TORCH_FN(dtype_cast_by_number));
  npu.impl("npu_dtype_cast_", TORCH_FN(dtype_cast_inplace));
  npu.impl("_npu_dtype_cast", TORCH_FN(dtype_cast));
  npu.impl("npu_dtype_cast_backward", TORCH_FN(dtype_cast_backward));
  npu.impl("_npu_dtype_cast_backward", TORCH_FN(dtype_cast));
  npu.impl("copy_memory_", TORCH_FN(copy_memory));
  npu.impl("_amp_foreach_non_finite_check", TORCH_FN(any_not_finite));
}

}  // namespace npu_sim
