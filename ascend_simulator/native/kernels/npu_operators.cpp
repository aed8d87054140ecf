#include "by_hand.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>

#include "../shapes_only/contents.h"
#include "reads.h"

namespace npu_sim {
namespace {

// Private memory layouts (NC1HWC0, FRACTAL_NZ, ...) do not exist here: a format cast keeps the values, and
// get_npu_format goes on answering ND. Casts are taken by the stack: releases of torch_npu differ in what follows the
// format or the type.
void format_cast(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const size_t count = op.schema().arguments().size();
  const at::Tensor self = torch::jit::peek(*stack, 0, count).toTensor();
  torch::jit::drop(*stack, count);
  torch::jit::push(*stack, self.clone());
}

void format_cast_inplace(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  torch::jit::drop(*stack, op.schema().arguments().size() - 1);
}

void dtype_cast(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const size_t count = op.schema().arguments().size();
  const at::Tensor self = torch::jit::peek(*stack, 0, count).toTensor();
  const auto dtype = static_cast<at::ScalarType>(torch::jit::peek(*stack, 1, count).toInt());
  torch::jit::drop(*stack, count);
  torch::jit::push(*stack, self.to(dtype));
}

at::Tensor& dtype_cast_inplace(at::Tensor& self, const at::Tensor& source) { return self.copy_(source); }

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
  // What this torch_npu lacks is not named: torch would keep the kernel for a schema to come.
  const auto add = [&npu](const char* name, torch::CppFunction kernel) {
    const std::string full = std::string("npu::") + name;
    const auto dot = full.find('.');
    const auto overload = dot == std::string::npos ? "" : full.substr(dot + 1);
    if (c10::Dispatcher::singleton().findSchema({full.substr(0, dot), overload})) {
      npu.impl(name, std::move(kernel));
    }
  };
  using torch::CppFunction;
  for (const char* name : {"npu_format_cast", "npu_format_cast.Tensor", "_npu_format_cast"}) {
    add(name, CppFunction::makeFromBoxedFunction<&format_cast>());
  }
  for (const char* name : {"npu_format_cast_", "npu_format_cast_.acl_format"}) {
    add(name, CppFunction::makeFromBoxedFunction<&format_cast_inplace>());
  }
  for (const char* name : {"npu_dtype_cast", "_npu_dtype_cast", "npu_dtype_cast_backward", "_npu_dtype_cast_backward"}) {
    add(name, CppFunction::makeFromBoxedFunction<&dtype_cast>());
  }
  add("npu_dtype_cast_", CppFunction(TORCH_FN(dtype_cast_inplace)));
  add("copy_memory_", CppFunction(TORCH_FN(copy_memory)));
  add("_amp_foreach_non_finite_check", CppFunction(TORCH_FN(any_not_finite)));
}

}  // namespace npu_sim
