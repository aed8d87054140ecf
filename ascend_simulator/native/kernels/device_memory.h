// Device memory of the simulated NPU is host memory handed out by torch_npu's own caching allocator.
#pragma once

#include <ATen/core/Tensor.h>

namespace npu_sim {

// torch_npu's allocator (the one behind every npu tensor), so that memory accounting stays torch_npu's.
c10::Allocator* npu_allocator();

// A storage of the kind torch_npu makes (it carries the NPU's storage description).
c10::Storage npu_storage(c10::DataPtr data, size_t nbytes, c10::Device device);

// Writes the tensor's shape and type into its storage's description, as torch_npu does for a tensor it makes itself:
// ProcessGroupHCCL and format casts read it, and take a storage without one for an unknown layout.
void describe_storage(const at::Tensor& tensor);

// Whether this memory came from npu_allocator().
bool is_npu_memory(const c10::DataPtr& data);

// Whether the address lies in a device's memory, whoever took it.
bool is_device_memory(const void* pointer);

// Makes PyTorch's CPU allocator hand out NPU memory on threads that are inside a simulated kernel.
void install_cpu_allocator();

// Whether this thread is inside a simulated kernel.
bool inside_kernel();

// While one of these lives, memory that this thread is given on the host can be marked (shapes_only/contents.h).
class MarkOnHost {
 public:
  MarkOnHost();
  ~MarkOnHost();
  MarkOnHost(const MarkOnHost&) = delete;
  MarkOnHost& operator=(const MarkOnHost&) = delete;

 private:
  bool before_;
};

bool marks_on_host();

// While one lives, this thread's CPU allocations are NPU memory: results need no copy, and what a kernel
// uses as scratch counts as the NPU's, as a workspace does on hardware. With `false`, the host's again.
class AllocateOnNpu {
 public:
  explicit AllocateOnNpu(bool on = true);
  ~AllocateOnNpu();
  AllocateOnNpu(const AllocateOnNpu&) = delete;
  AllocateOnNpu& operator=(const AllocateOnNpu&) = delete;

 private:
  bool before_;
};

}  // namespace npu_sim
