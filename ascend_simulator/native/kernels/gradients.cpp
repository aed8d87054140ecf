#include "by_hand.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include <numeric>

#include "cann_error.h"

namespace npu_sim {
namespace {

// PyTorch accumulates the norm in float64 on its way back, torch_npu in float32
// (op_plugin/ops/opapi/RenormBackwardKernelNpu.cpp).
at::Tensor renorm(const at::Tensor& self, const at::Scalar& p, int64_t dim, const at::Scalar& maxnorm) {
  TORCH_CHECK(p.toDouble() > 0.0, "renorm: non-positive-norm not supported");
  TORCH_CHECK(maxnorm.toDouble() >= 0.0, "renorm: expected maxnorm to be >= 0 but got ", maxnorm.toDouble());
  TORCH_CHECK(self.dim() > 1, "renorm: input needs at least 2 dimensions, got ", self.dim(), " dimensions");
  std::vector<int64_t> others(self.dim());
  std::iota(others.begin(), others.end(), 0);
  others.erase(others.begin() + c10::maybe_wrap_dim(dim, self.dim()));
  const bool half = self.scalar_type() == at::kHalf || self.scalar_type() == at::kBFloat16;
  const auto norm = at::linalg_vector_norm(self, p, others, true, half ? at::kFloat : self.scalar_type());
  constexpr double kTiny = 1e-7;  // as in PyTorch's renorm
  const auto factor = at::where(norm.gt(maxnorm), norm.add(kTiny).reciprocal().mul(maxnorm), at::ones_like(norm));
  return self.mul(factor.to(self.scalar_type()));
}

}  // namespace

LossWithLogits::LossWithLogits(const c10::OperatorHandle& op)
    : torch_npu_(kernel_of(op, c10::DispatchKey::AutogradPrivateUse1)) {}

void LossWithLogits::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const auto& target = (*stack)[stack->size() - op.schema().arguments().size() + 1].toTensor();
  if (target.requires_grad() && at::GradMode::is_enabled()) {
    refuse_as_torch_npu("binary_cross_entropy_with_logits has no gradient for target", "",
                        "on a real NPU target.grad stays None without an error: torch_npu 2.13 has no formula for it");
  }
  torch_npu_.callBoxed(op, keys, stack);
}

void register_gradients(torch::Library& autograd) { autograd.impl("renorm", TORCH_FN(renorm)); }

}  // namespace npu_sim
