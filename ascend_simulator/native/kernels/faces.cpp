#include "faces.h"

#include <c10/util/strides.h>

#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>

#include <cstring>

#include "../shapes_only/contents.h"
#include "device_memory.h"

namespace npu_sim {
namespace {

constexpr size_t kManyPairs = 16;

c10::Storage make_storage_face(const c10::Storage& original) {
  // mutable_data: a copy-on-write storage must become real before a kernel may write through its face
  void* data = original.sym_nbytes() == 0 ? nullptr : original.mutable_data();
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), c10::SymInt(static_cast<int64_t>(original.nbytes())),
      c10::DataPtr(data, c10::Device(c10::kCPU)), c10::GetCPUAllocator(), original.resizable()));
}

void copy_geometry(const at::Tensor& from, at::TensorImpl* to) {
  to->set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
}

bool same_geometry(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.strides() == b.strides() && a.storage_offset() == b.storage_offset();
}

at::Tensor copied(const at::Tensor& result, c10::Device device) {
  const auto nbytes = result.storage().nbytes();
  c10::DataPtr data = npu_allocator()->allocate(nbytes);
  if (nbytes > 0) {
    std::memcpy(data.get(), result.storage().data(), nbytes);
  }
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      npu_storage(std::move(data), nbytes, device),
      c10::DispatchKeySet({c10::DispatchKey::PrivateUse1, c10::DispatchKey::AutogradPrivateUse1}), result.dtype());
  copy_geometry(result, tensor.unsafeGetTensorImpl());
  describe_storage(tensor);
  return tensor;
}

// Results are given in the order of their sizes, as op-plugin makes them: the CPU's kernels follow an input of which the
// channels lie innermost (a view of what was transposed), and torch_npu makes no tensor like such a one.
void lay_out(const at::Tensor& result) {
  const bool innermost = result.dim() == 4 ? result.is_contiguous(at::MemoryFormat::ChannelsLast)
                                           : result.dim() == 5 && result.is_contiguous(at::MemoryFormat::ChannelsLast3d);
  if (!innermost || result.is_contiguous() || result.storage_offset() != 0 || result.storage().use_count() != 1) {
    return;
  }
  const auto contiguous = c10::contiguous_strides(result.sizes());
  auto* impl = result.unsafeGetTensorImpl();
  if (sim::shapes_only() && sim::content_of(result.storage().data(), result.storage().nbytes()) == sim::Content::hollow) {
    return impl->set_sizes_and_strides(result.sizes().vec(), contiguous);
  }
  AllocateOnNpu host(false);
  const auto values = result.contiguous();
  impl->set_sizes_and_strides(result.sizes().vec(), contiguous);
  at::Tensor(result).copy_(values);
}

}  // namespace

at::Tensor adopt(at::Tensor result, c10::Device device) {
  auto* impl = result.unsafeGetTensorImpl();
  const auto& storage = impl->unsafe_storage();
  const bool ours = result.use_count() == 1 && storage.use_count() == 1 &&
                    (storage.nbytes() == 0 || is_npu_memory(storage.data_ptr()));
  if (!ours) {
    return copied(result, device);
  }
  const auto nbytes = storage.nbytes();
  auto* cpu_storage = storage.unsafeGetStorageImpl();
  auto data = nbytes == 0 ? npu_allocator()->allocate(0) : cpu_storage->set_data_ptr(c10::DataPtr());
  impl->set_storage_keep_dtype(npu_storage(std::move(data), nbytes, device));
  impl->_change_backend_component_keys(device);
  describe_storage(result);
  return result;
}

const c10::Storage& Faces::storage_face(const c10::Storage& original) {
  const auto* impl = original.unsafeGetStorageImpl();
  if (pairs_.size() < kManyPairs) {
    for (const auto& pair : pairs_) {
      if (pair.original.unsafeGetStorageImpl() == impl) {
        return pair.face;
      }
    }
  } else {
    if (index_.empty()) {
      for (size_t i = 0; i < pairs_.size(); ++i) {
        index_.emplace(pairs_[i].original.unsafeGetStorageImpl(), i);
      }
    }
    const auto [at, is_new] = index_.emplace(impl, pairs_.size());
    if (!is_new) {
      return pairs_[at->second].face;
    }
  }
  pairs_.push_back({original, make_storage_face(original)});
  return pairs_.back().face;
}

at::Tensor Faces::face(const at::Tensor& original, bool written) {
  const auto* from = original.unsafeGetTensorImpl();
  auto face = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage_face(original.storage())), c10::DispatchKeySet(c10::DispatchKey::CPU), original.dtype());
  auto* impl = face.unsafeGetTensorImpl();
  copy_geometry(original, impl);
  if (from->is_wrapped_number()) {
    impl->set_wrapped_number(true);
  }
  if (original.is_conj()) {
    impl->_set_conj(true);
  }
  if (original.is_neg()) {
    impl->_set_neg(true);
  }
  entries_.push_back({face, original, written});
  any_written_ |= written;
  return face;
}

const at::Tensor& Faces::host(const at::Tensor& tensor) {
  entries_.push_back({tensor, tensor, /*written=*/false});
  return tensor;
}

const Faces::Pair* Faces::pair_of_face(const c10::Storage& face) const {
  for (const auto& pair : pairs_) {
    if (pair.face.unsafeGetStorageImpl() == face.unsafeGetStorageImpl()) {
      return &pair;
    }
  }
  return nullptr;
}

void Faces::sync_storages() {
  for (const auto& pair : pairs_) {
    auto* face = pair.face.unsafeGetStorageImpl();
    auto* original = pair.original.unsafeGetStorageImpl();
    if (face->data() == original->data() && face->nbytes() == original->nbytes()) {
      continue;
    }
    const auto device = original->device();
    const auto nbytes = face->nbytes();
    auto data = face->set_data_ptr(c10::DataPtr());
    data.unsafe_set_device(device);
    original->set_data_ptr_noswap(std::move(data));
    original->set_nbytes(nbytes);
  }
}

void Faces::sync_metadata(const Entry& entry) {
  if (!entry.written) {
    return;
  }
  auto* original = entry.original.unsafeGetTensorImpl();
  const auto* pair = pair_of_face(entry.face.storage());
  TORCH_CHECK_NOT_IMPLEMENTED(pair != nullptr, "the NPU simulator lacks operators that exchange a tensor's storage");
  if (pair->original.unsafeGetStorageImpl() != original->unsafe_storage().unsafeGetStorageImpl()) {
    original->set_storage_keep_dtype(pair->original);
  }
  if (!same_geometry(entry.face, entry.original)) {
    copy_geometry(entry.face, original);
  }
}

void Faces::sync() {
  if (!any_written_) {
    return;
  }
  sync_storages();
  for (const auto& entry : entries_) {
    sync_metadata(entry);
  }
}

at::Tensor Faces::back(at::Tensor result, c10::Device device) {
  if (!result.defined()) {
    return result;
  }
  if (result.use_count() > 1) {
    for (const auto& entry : entries_) {
      if (entry.face.is_same(result)) {
        return entry.original;
      }
    }
  }
  const auto* pair = result.storage().use_count() > 1 ? pair_of_face(result.storage()) : nullptr;
  if (pair == nullptr) {
    lay_out(result);
    return adopt(std::move(result), device);
  }
  auto view = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(pair->original),
      c10::DispatchKeySet({c10::DispatchKey::PrivateUse1, c10::DispatchKey::AutogradPrivateUse1}), result.dtype());
  copy_geometry(result, view.unsafeGetTensorImpl());
  view.unsafeGetTensorImpl()->_set_conj(result.is_conj());
  view.unsafeGetTensorImpl()->_set_neg(result.is_neg());
  return view;
}

}  // namespace npu_sim
