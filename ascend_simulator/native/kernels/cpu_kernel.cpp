#include "cpu_kernel.h"

#include <ATen/core/op_registration/adaption.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>

#include "../shapes_only/contents.h"
#include "attention.h"
#include "by_hand.h"
#include "device_limits.h"
#include "device_memory.h"
#include "half_as_float.h"
#include "launch.h"
#include "queue_order.h"
#include "tensors.h"
#include "traits.h"

namespace npu_sim {
namespace {

// torch_npu/csrc/aten/ops/op_api/CopyKernelOpApi.cpp: between devices, or of nothing, a copy asks CANN nothing.
bool within_device(const torch::jit::Stack& stack, size_t first) {
  const at::Tensor &self = stack[first].toTensor(), &source = stack[first + 1].toTensor();
  return self.device() == source.device() && self.numel() > 0;
}

optional<c10::Device> npu_device(const c10::IValue& value) {
  if (value.isDevice() && value.toDevice().type() == at::kPrivateUse1) {
    return value.toDevice();
  }
  optional<c10::Device> device;
  any_tensor(value, [&device](const at::Tensor& tensor) {
    device = tensor.device().type() == at::kPrivateUse1 ? optional<c10::Device>(tensor.device()) : nullopt;
    return device.has_value();
  });
  return device;
}

}  // namespace

struct CpuKernel::Call {
  Faces faces;
  optional<c10::Device> device;
  bool checked = true;  // its data types
};

CpuKernel::CpuKernel(const c10::OperatorHandle& op)
    : name_(name_on_npu(op)),
      return_count_(op.schema().returns().size()),
      device_check_(device_check(op)),
      limits_(dtype_limits(op)),
      list_limits_(list_limits(op, limits_)),
      call_check_(call_check(op)),
      matrix_unit_(matrix_unit_of(op)),
      recorded_(!moves_no_data(op.schema())),
      waits_(has_trait("waits", c10::toString(op.operator_name()))),
      counts_(has_trait("counts", c10::toString(op.operator_name()))),
      dense_(has_trait("dense", op.operator_name().name)),
      mixes_half_(mixes_half(op)),
      factor_(factor_argument(op)),
      in_float_(rounds_between(op)),
      softmax_(mixes_softmax(op)),
      faults_(faults_of(op)) {
  const auto* mixed = find_trait("mixed_devices", op.operator_name().name);
  const auto* index = find_trait("index_of_int64", op.operator_name().name);
  for (const auto& argument : op.schema().arguments()) {
    arguments_.push_back(argument.name());
    const auto* alias = argument.alias_info();
    written_.push_back(alias != nullptr && alias->isWrite());
    if (index != nullptr && argument.name() == index->front()) {
      index_ = arguments_.size() - 1;
    }
    may_differ_.push_back(mixed != nullptr && (mixed->empty() || std::count(mixed->begin(), mixed->end(), argument.name()) > 0));
    if (argument.name() == "generator") {
      generator_ = written_.size() - 1;
    }
  }
  if (sim::shapes_only()) {
    shapes_only_.emplace(op, name_);
  }
}

void CpuKernel::check_device(Call& call, const at::Tensor& tensor, size_t argument) const {
  const bool on_npu = tensor.device().type() == at::kPrivateUse1;
  const bool cpu_scalar = device_check_.empty() && tensor.device().is_cpu() && tensor.dim() == 0 && !written_[argument];
  if (may_differ_[argument] || cpu_scalar || (on_npu && tensor.device() == *call.device)) {
    return;
  }
  refuse_device(device_check_, name_, arguments_[argument], tensor, *call.device);
}

void CpuKernel::check_plain(const at::Tensor& tensor) const {
  TORCH_CHECK_NOT_IMPLEMENTED(!tensor.defined() || (tensor.layout() == at::kStrided && !tensor.is_quantized()),
                              "the NPU simulator lacks ", name_, " with ",
                              tensor.is_quantized() ? "quantized" : c10::str(tensor.layout()), " tensors");
}

void CpuKernel::check_hardware(const Call& call, const at::Tensor& tensor, size_t argument) const {
  if (call.checked && tensor.device().type() == at::kPrivateUse1 && !takes(*limits_, argument, tensor)) {
    refuse_tensor(*limits_, name_, arguments_[argument], argument, tensor);
  }
}

at::Tensor CpuKernel::take_tensor(Call& call, const at::Tensor& tensor, size_t argument) const {
  if (!tensor.defined()) {
    return tensor;
  }
  check_device(call, tensor, argument);
  check_plain(tensor);
  check_hardware(call, tensor, argument);
  const auto face = tensor.device().type() == at::kPrivateUse1 ? call.faces.face(tensor, written_[argument])
                                                               : call.faces.host(tensor);
  if (argument == index_ && face.scalar_type() == at::kInt) {
    AllocateOnNpu host(false);
    return face.to(at::kLong);
  }
  return face;
}

void CpuKernel::take(Call& call, c10::IValue& value, size_t argument) const {
  if (value.isDevice() && value.toDevice().type() == at::kPrivateUse1) {
    value = c10::Device(at::kCPU);
  } else {
    change_tensors(value, [&](const at::Tensor& tensor) { return take_tensor(call, tensor, argument); });
  }
}

void CpuKernel::give(Call& call, c10::IValue& value) const {
  change_tensors(value, [&](at::Tensor result) {
    check_plain(result);
    return call.faces.back(std::move(result), *call.device);
  });
}

void CpuKernel::find_device(Call& call, const torch::jit::Stack& stack) const {
  for (size_t i = stack.size() - arguments_.size(); i < stack.size() && !call.device; ++i) {
    call.device = npu_device(stack[i]);
  }
  if (!call.device || !call.device->has_index()) {
    call.device = c10::impl::getDeviceGuardImpl(at::kPrivateUse1)->getDevice();
  }
}

void CpuKernel::compute(const c10::OperatorHandle& op, torch::jit::Stack* stack, c10::Device) const {
  const size_t first = stack->size() - arguments_.size();
  if (counts_ && (*stack)[first].toTensor().scalar_type() == at::kInt) {
    return count_whole(op, stack);
  }
  if (dense_) {
    AllocateOnNpu host(false);  // the kernel's own scratch, no device memory
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (!written_[i] && (*stack)[first + i].isTensor()) {
        (*stack)[first + i] = (*stack)[first + i].toTensor().contiguous();
      }
    }
  }
  if (matrix_unit_) {
    round_inputs(*matrix_unit_, stack, first);
  }
  const auto rounded = softmax_ ? even_softmax(op, stack) : nullopt;
  if (const auto half = half_type(*stack, first, mixes_half_)) {
    return compute_half(op, stack, *half);
  }
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  if (rounded) {
    stack->back() = stack->back().toTensor().to(*rounded);
  }
}

void CpuKernel::count_whole(const c10::OperatorHandle& op, torch::jit::Stack* stack) const {
  auto& values = stack->at(stack->size() - arguments_.size());
  optional<at::Tensor> out;
  {
    AllocateOnNpu host(false);
    values = values.toTensor().to(at::kDouble);
    if (written_.back()) {
      out = stack->back().toTensor();
      stack->back() = at::empty({0}, out->options().dtype(at::kDouble));
    }
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
  if (out) {
    at::native::resize_output(*out, stack->back().toTensor().sizes());
    out->copy_(stack->back().toTensor());
    stack->back() = std::move(*out);
  } else {
    stack->back() = stack->back().toTensor().to(at::kInt);
  }
}

void CpuKernel::compute_half(const c10::OperatorHandle& op, torch::jit::Stack* stack, at::ScalarType type) const {
  const size_t first = stack->size() - arguments_.size();
  if (in_float_.load(std::memory_order_relaxed) || (factor_ && scales((*stack)[first + *factor_], type))) {
    return compute_in_float(op, stack, type);
  }
  const torch::jit::Stack given(stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end());
  try {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  } catch (const c10::Error& error) {
    if (!lacks_half(error)) {
      throw;
    }
    in_float_.store(true, std::memory_order_relaxed);
    stack->resize(first);
    stack->insert(stack->end(), given.begin(), given.end());
    compute_in_float(op, stack, type);
  }
}

// The same values at the start of memory of so many bytes.
void CpuKernel::widen(at::IValue& value, size_t nbytes) {
  const at::Tensor narrow = value.toTensor();
  const auto width = static_cast<size_t>(narrow.element_size());
  if (nbytes <= narrow.numel() * width) {
    return;
  }
  const auto wide = at::empty({static_cast<int64_t>(nbytes / width)}, narrow.options());
  auto view = wide.as_strided(narrow.sizes(), narrow.strides());
  view.copy_(narrow);
  value = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(wide.storage()), wide.key_set(), wide.dtype());
  value.toTensor().unsafeGetTensorImpl()->set_sizes_and_strides(narrow.sizes(), narrow.strides(), 0);
}

void CpuKernel::run(const c10::OperatorHandle& op, torch::jit::Stack* stack, c10::Device device) const {
  if (shapes_only_) {
    shapes_only_->run(op, stack, [&] { compute(op, stack, device); });
  } else {
    compute(op, stack, device);
  }
  if (!faults_.empty()) {
    apply_faults(faults_, name_, stack, return_count_);
  }
}

void CpuKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  if (!limits_ && !used_.exchange(true, std::memory_order_relaxed)) {
    note_unknown(name_);
  }
  Call call;
  find_device(call, *stack);
  c10::DeviceGuard device_guard(*call.device);
  optional<Launch> launch;
  if (sim::recording() && recorded_) {
    launch.emplace(name_, *call.device, *stack, arguments_.size());
  } else {
    drain_queue(*call.device);
  }
  const size_t first = stack->size() - arguments_.size();
  if (call_check_ != nullptr) {
    call_check_(*stack, first);
  }
  call.checked = limits_ && !list_limits_ && (!limits_->between_devices || within_device(*stack, first));
  if (list_limits_) {
    check_lists(*list_limits_, *stack, first);
  }
  optional<GraphTask> graph_task;
  if (sim::capturing() && recorded_) {
    graph_task = GraphTask::begin(*this, op, *stack, *call.device);
  }
  for (size_t i = 0; i < arguments_.size(); ++i) {
    take(call, (*stack)[first + i], i);
  }
  if (generator_) {
    auto& value = (*stack)[first + *generator_];
    value = graph_task ? generator_of_capture() : generator_for_call(value.toOptional<at::Generator>(), *call.device);
  }
  {
    c10::impl::ExcludeDispatchKeyGuard keys_guard(kAboveKernels);
    AllocateOnNpu allocation_guard;
    if (launch) {
      launch->begin();
    }
    const size_t kept = kept_for_gradient(*stack, first);
    try {
      run(op, stack, *call.device);
    } catch (const c10::Error& error) {
      refuse_lacking(limits_.get(), name_, error);
      throw;
    }
    if (kept > 0) {
      widen(stack->back(), kept);
    }
    if (launch) {
      launch->end(*stack, return_count_);
    }
  }
  if (limits_ && return_count_ > 0 && !gives(*limits_, (*stack)[stack->size() - return_count_])) {
    refuse_result(*limits_, name_, (*stack)[stack->size() - return_count_].toTensor().scalar_type());
  }
  call.faces.sync();
  for (size_t i = stack->size() - return_count_; i < stack->size(); ++i) {
    give(call, (*stack)[i]);
  }
  if (graph_task) {
    graph_task->end(*stack);
  }
}

}  // namespace npu_sim
