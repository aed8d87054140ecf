#include "graph_task.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "by_hand.h"
#include "cpu_kernel.h"
#include "device_memory.h"
#include "queue_order.h"
#include "tensors.h"
#include "traits.h"

namespace npu_sim {
namespace {

// Bytes from a tensor's first element to the end of its last.
size_t span_of(const at::Tensor& tensor) {
  if (tensor.numel() == 0) {
    return 0;
  }
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    last += (tensor.size(i) - 1) * tensor.stride(i);
  }
  return static_cast<size_t>((last + 1) * tensor.element_size());
}

// A CPU tensor over the same memory, which it does not own: a graph keeps addresses, its pool keeps the memory.
at::Tensor borrow(const at::Tensor& tensor) {
  const auto* from = tensor.unsafeGetTensorImpl();
  const auto& storage = tensor.storage();
  void* data = storage.nbytes() == 0 ? nullptr : storage.mutable_data();
  auto borrowed = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(c10::make_intrusive<c10::StorageImpl>(
          c10::StorageImpl::use_byte_size_t(), c10::SymInt(static_cast<int64_t>(storage.nbytes())),
          c10::DataPtr(data, c10::Device(c10::kCPU)), c10::GetCPUAllocator(), /*resizable=*/false)),
      c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  auto* impl = borrowed.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(from->sizes(), from->strides(), from->storage_offset());
  if (from->is_wrapped_number()) {
    impl->set_wrapped_number(true);
  }
  impl->_set_conj(tensor.is_conj());
  impl->_set_neg(tensor.is_neg());
  return borrowed;
}

// What a task holds of an argument: of a device's tensor its memory; a number on the host at its value of now, as a
// launch takes it; pinned memory of a copy, alive.
at::IValue hold(at::IValue value, bool is_copy) {
  if (value.isDevice() && value.toDevice().type() == at::kPrivateUse1) {
    return c10::Device(at::kCPU);
  }
  change_tensors(value, [&](const at::Tensor& tensor) {
    if (!tensor.defined()) {
      return tensor;
    }
    if (tensor.device().type() == at::kPrivateUse1) {
      return borrow(tensor);
    }
    return is_copy ? tensor : tensor.clone();
  });
  return value;
}

bool reads_or_writes_host(const torch::jit::Stack& stack, size_t first) {
  const auto on_host = [](const at::Tensor& tensor) { return tensor.is_cpu() && tensor.dim() > 0; };
  return std::any_of(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end(),
                     [&](const at::IValue& value) { return any_tensor(value, on_host); });
}

bool on_npu(const at::IValue& value) {
  return any_tensor(value, [](const at::Tensor& tensor) { return tensor.device().type() == at::kPrivateUse1; });
}

bool has_mask(const at::IValue& indices) {
  return any_tensor(indices, [](const at::Tensor& index) {
    return index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
  });
}

// Where torch_npu's own kernel waits for the device only with some arguments (files of op_plugin/ops/opapi).
bool waits_with(const std::string& name, const at::IValue* given) {
  if (name == "aten::index") {  // IndexKernelNpuOpApi.cpp: a mask becomes the places where it holds
    return has_mask(given[1]);
  }
  if (name == "aten::index_put_" || name == "aten::index_put" || name == "aten::_index_put_impl_") {
    // IndexPutKernelNpuOpApi.cpp: one value at a mask is filled in, and read before
    const bool fills = !given[3].toBool() && given[2].toTensor().numel() == 1;
    return has_mask(given[1]) && (!fills || on_npu(given[2]));
  }
  if (name == "aten::index_fill" || name == "aten::index_fill_") {  // IndexFillKernelNpuOpApi.cpp
    return on_npu(given[3]);
  }
  if (name == "aten::histc") {  // HistcKernelNpuOpApi.cpp: the edges are those of the values
    return given[2].toScalar().toDouble() == given[3].toScalar().toDouble();
  }
  if (name == "aten::normal") {  // NormalKernelNpuOpApi.cpp: no deviation may be below 0
    return on_npu(given[1]);
  }
  return false;
}

void check_memory(const std::string& name, const at::IValue& value) {
  any_tensor(value, [&](const at::Tensor& tensor) {
    const bool there = tensor.numel() == 0 || !tensor.storage().data() || is_device_memory(tensor.const_data_ptr()) ||
                       tensor.storage().data_ptr().get_context() != nullptr;
    TORCH_CHECK(there, name, " reads memory that has been given back since the graph was captured");
    return false;
  });
}

}  // namespace

at::Generator generator_of_capture() { return at::detail::createCPUGenerator(0); }

optional<GraphTask> GraphTask::begin(const CpuKernel& kernel, const c10::OperatorHandle& op,
                                          const torch::jit::Stack& stack, c10::Device device) {
  GraphTask task(kernel, op, device);
  task.stream_ = drain_queue(device);
  task.graph_ = sim::find_graph(task.stream_);
  if (task.graph_ == nullptr) {
    return nullopt;
  }
  const size_t first = stack.size() - kernel.arguments_.size();
  const bool is_copy = op.operator_name().name == "aten::copy_";
  const bool blocks = is_copy ? !stack[first + 2].toBool() : true;
  if (kernel.waits_ || waits_with(op.operator_name().name, &stack[first]) || (blocks && reads_or_writes_host(stack, first))) {
    const int code = sim::refuse_wait("aclrtSynchronizeStreamWithTimeout", task.stream_);
    TORCH_CHECK(false, kernel.name_, ": NPU function error: AclrtSynchronizeStreamWithTimeout, error code is ", code, "\n",
                recent_message());
  }
  task.given_.assign(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end());
  const auto* unsaid = find_trait("written_unsaid", op.operator_name().name);
  for (size_t i = 0; i < kernel.written_.size(); ++i) {
    const auto place = std::to_string(i);
    if (!kernel.written_[i] && (unsaid == nullptr || std::count(unsaid->begin(), unsaid->end(), place) == 0)) {
      continue;
    }
    any_tensor(task.given_[i], [&](const at::Tensor& tensor) {
      if (tensor.numel() > 0) {
        sim::keep_before_write(task.graph_, tensor.mutable_data_ptr(), span_of(tensor));
      }
      return false;
    });
  }
  return task;
}

void GraphTask::end(const torch::jit::Stack& stack) {
  const bool is_copy = op_.operator_name().name == "aten::copy_";
  for (auto& value : given_) {  // only now: an argument `out` may have been given another size
    arguments_.push_back(hold(std::move(value), is_copy));
  }
  const auto is_argument = [&](const at::Tensor& result) {
    return std::any_of(arguments_.begin(), arguments_.end(), [&](const at::IValue& value) {
      return any_tensor(value, [&](const at::Tensor& tensor) { return tensor.storage().data() == result.storage().data(); });
    });
  };
  for (size_t i = stack.size() - kernel_->return_count_; i < stack.size(); ++i) {
    auto value = stack[i];
    bool own = false;
    change_tensors(value, [&](const at::Tensor& tensor) {
      if (!tensor.defined() || tensor.numel() == 0 || is_argument(tensor)) {
        return at::Tensor();
      }
      own = true;
      sim::note_result(graph_, tensor.mutable_data_ptr(), span_of(tensor), at::isFloatingType(tensor.scalar_type()));
      return borrow(tensor);
    });
    results_.push_back(own ? value : at::IValue());
  }
  given_.clear();
  auto* const graph = graph_;
  auto* const stream = stream_;
  const auto name = kernel_->name_;
  sim::add_to_graph(graph, stream, name, [task = std::move(*this)] { return task.run(); });
}

int GraphTask::run() const {
  at::DisableRecordFunctionGuard no_operators_inside;  // as in a launch
  c10::DeviceGuard device_guard(device_);
  torch::jit::Stack stack;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    auto value = arguments_[i];
    check_memory(kernel_->name_, value);
    if (kernel_->generator_ == i) {
      value = generator_for_call(value.toOptional<at::Generator>(), device_);
    }
    if (kernel_->index_ == i && value.isTensor() && value.toTensor().defined() && value.toTensor().scalar_type() == at::kInt) {
      value = value.toTensor().to(at::kLong);
    }
    stack.push_back(std::move(value));
  }
  c10::impl::ExcludeDispatchKeyGuard keys_guard(kAboveKernels);
  kernel_->run(op_, &stack, device_);
  for (size_t i = 0; i < results_.size(); ++i) {
    const auto& computed = stack[stack.size() - results_.size() + i];
    if (results_[i].isTensor()) {
      results_[i].toTensor().copy_(computed.toTensor());
    } else if (results_[i].isTensorList()) {
      const auto into = results_[i].toTensorVector(), from = computed.toTensorVector();
      for (size_t at = 0; at < into.size(); ++at) {
        if (into[at].defined()) into[at].copy_(from[at]);
      }
    }
  }
  return 0;
}

}  // namespace npu_sim
