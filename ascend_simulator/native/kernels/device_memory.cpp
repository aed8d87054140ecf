#include "device_memory.h"

#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <dlfcn.h>
#include <torch_npu/csrc/core/NPUStorageImpl.h>

#include "../shapes_only/contents.h"
#include "lazy_host.h"
#include "torch_api.h"

namespace npu_sim {
namespace {

// aclrtPtrAttributes and ACL_MEM_LOCATION_TYPE_DEVICE of the AscendCL reference, aclrtPointerGetAttributes.
struct PointerAttributes {
  uint32_t device = 0;
  uint32_t location = 0;
  uint32_t page_size = 0;
  uint32_t reserved[4] = {};
};
constexpr uint32_t kOnDevice = 1;

}  // namespace

bool is_device_memory(const void* pointer) {
  using Function = int (*)(const void*, PointerAttributes*);
  static const auto attributes_of = reinterpret_cast<Function>(dlsym(
      dlopen("libascendcl.so", RTLD_LAZY | RTLD_NOLOAD), "aclrtPointerGetAttributes"));
  PointerAttributes attributes;
  return pointer != nullptr && attributes_of(pointer, &attributes) == 0 && attributes.location == kOnDevice;
}

namespace {

thread_local bool allocate_on_npu = false;
thread_local bool mark_on_host = false;
thread_local int kernels_here = 0;
c10::DeleterFnPtr npu_deleter = nullptr;

c10::Allocator* host_allocator = nullptr;

// oneDNN's scratch pads are taken and given back without a DataPtr (Allocator::raw_allocate), some within a
// kernel and some not: only the address tells them apart. Rare, so asking the runtime is cheap enough.
void release_raw(void* pointer) {
  if (sim::shapes_only() && release_on_host(pointer)) return;
  if (pointer != nullptr && is_device_memory(pointer)) {
    npu_deleter(pointer);
  } else {
    host_allocator->raw_deleter()(pointer);
  }
}

class CpuAllocator final : public c10::Allocator {
 public:
#if TORCH_HAS_CONST_ALLOCATE
  c10::DataPtr allocate(size_t nbytes) const override {
#else
  c10::DataPtr allocate(size_t nbytes) override {
#endif
    if (!allocate_on_npu && sim::too_large_to_keep(nbytes)) {
      return reserve_on_host(nbytes);
    }
    if (!allocate_on_npu && mark_on_host && nbytes > 0) {
      return watch_on_host(*host_allocator, nbytes);
    }
    if (!allocate_on_npu || nbytes == 0) {
      return host_allocator->allocate(nbytes);
    }
    c10::DataPtr data = npu_allocator()->allocate(nbytes);
    if (sim::shapes_only()) sim::forget_content(data.get(), nbytes);
    data.unsafe_set_device(c10::Device(c10::kCPU));  // kernels compare devices; adopt() sets the true one
    return data;
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release_raw; }

#if TORCH_HAS_COPYING_ALLOCATOR
  bool is_simple_data_ptr(const c10::DataPtr& data) const override { return data.get() == data.get_context(); }

  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }
#endif
};

c10::Allocator* find_npu_allocator() {
  auto probe = at::empty({16}, at::TensorOptions().device(at::kPrivateUse1).dtype(at::kFloat));
  npu_deleter = probe.storage().data_ptr().get_deleter();
  return probe.storage().allocator();
}

}  // namespace

c10::Allocator* npu_allocator() {
  static c10::Allocator* const allocator = find_npu_allocator();
  return allocator;
}

c10::Storage npu_storage(c10::DataPtr data, size_t nbytes, c10::Device device) {
  static const auto create = c10::GetStorageImplCreate(at::kPrivateUse1);
  data.unsafe_set_device(device);
  return c10::Storage(make_storage(create, std::move(data), nbytes, npu_allocator()));
}

void describe_storage(const at::Tensor& tensor) {
  auto* storage = static_cast<torch_npu::NPUStorageImpl*>(tensor.storage().unsafeGetStorageImpl());
  torch_npu::NPUStorageDesc& description = storage->npu_desc_;
  const bool whole = tensor.is_contiguous() && tensor.storage_offset() == 0;
  const int64_t flat_size = static_cast<int64_t>(storage->nbytes() / tensor.element_size()), flat_stride = 1;
  const at::IntArrayRef sizes = whole ? tensor.sizes() : at::IntArrayRef(flat_size);
  // InferFormat::GuessBaseFormat (torch_npu/csrc/framework/InferFormat.cpp)
  const aclFormat format = sizes.size() == 5 ? ACL_FORMAT_NCDHW : sizes.size() == 4 ? ACL_FORMAT_NCHW : ACL_FORMAT_ND;
  description.base_sizes_ = sizes;
  description.base_strides_ = whole ? tensor.strides() : at::IntArrayRef(flat_stride);
  description.storage_sizes_ = sizes;
  description.origin_format_ = description.npu_format_ = format;
  description.data_type_ = tensor.dtype();
}

bool is_npu_memory(const c10::DataPtr& data) {
  npu_allocator();
  return data.get_deleter() == npu_deleter;
}

void install_cpu_allocator() {
  if (host_allocator != nullptr) {
    return;
  }
  // Leaked: tensors outlive every static object.
  host_allocator = c10::GetCPUAllocator();
  c10::SetCPUAllocator(new CpuAllocator, /*priority=*/0);
}

AllocateOnNpu::AllocateOnNpu(bool on) : before_(allocate_on_npu) {
  if (on) {
    npu_allocator();  // found before the flag is set: finding it allocates
  }
  allocate_on_npu = on;
  ++kernels_here;
}

AllocateOnNpu::~AllocateOnNpu() {
  --kernels_here;
  allocate_on_npu = before_;
}

bool inside_kernel() { return kernels_here > 0; }

MarkOnHost::MarkOnHost() : before_(mark_on_host) { mark_on_host = true; }

MarkOnHost::~MarkOnHost() { mark_on_host = before_; }

bool marks_on_host() { return mark_on_host; }

}  // namespace npu_sim
