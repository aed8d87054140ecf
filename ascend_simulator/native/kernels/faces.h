// CPU faces of NPU tensors: what a simulated kernel hands to PyTorch's CPU kernel, and takes back from it.
#pragma once

#include <ATen/core/Tensor.h>

#include <unordered_map>

namespace npu_sim {

// A CPU result as an NPU tensor; its memory moves over when nobody else holds it, else it is copied.
at::Tensor adopt(at::Tensor result, c10::Device device);

// The faces of one call. A face is a CPU tensor over the NPU tensor's own memory: no copy.
class Faces {
 public:
  at::Tensor face(const at::Tensor& original, bool written);

  // A CPU tensor among the arguments: it is its own face.
  const at::Tensor& host(const at::Tensor& tensor);

  // Carries resizes and in-place metadata changes (t_, squeeze_, out= of another shape) to the originals.
  void sync();

  // The NPU tensor of a result: the original it is a face of, a view of an original, or a new tensor.
  at::Tensor back(at::Tensor result, c10::Device device);

 private:
  struct Entry {
    at::Tensor face;
    at::Tensor original;
    bool written;
  };
  struct Pair {
    c10::Storage original;
    c10::Storage face;
  };

  const c10::Storage& storage_face(const c10::Storage& original);
  const Pair* pair_of_face(const c10::Storage& face) const;
  void sync_storages();
  void sync_metadata(const Entry& entry);

  c10::SmallVector<Entry, 6> entries_;
  c10::SmallVector<Pair, 6> pairs_;
  std::unordered_map<const c10::StorageImpl*, size_t> index_;  // used once the pairs are many
  bool any_written_ = false;
};

}  // namespace npu_sim
