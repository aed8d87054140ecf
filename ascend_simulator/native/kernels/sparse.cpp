#include "by_hand.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>

namespace npu_sim {
namespace {

at::Tensor on_device(const at::Tensor& sparse, c10::Device device) {
  return at::_sparse_coo_tensor_unsafe(sparse._indices().to(device), sparse._values().to(device), sparse.sizes(),
                                       nullopt, nullopt, nullopt, nullopt,
                                       sparse.is_coalesced());
}

at::Tensor to_sparse(const at::Tensor& self, optional<at::Layout> layout, at::OptionalIntArrayRef block_size,
                     optional<int64_t> dense_dim) {
  TORCH_CHECK_NOT_IMPLEMENTED(layout.value_or(at::kSparse) == at::kSparse,
                              "the NPU simulator lacks aten::_to_sparse with layout ", *layout);
  return on_device(self.cpu().to_sparse(at::kSparse, block_size, dense_dim), self.device());
}

at::Tensor to_sparse_dims(const at::Tensor& self, int64_t sparse_dim) {
  return on_device(self.cpu().to_sparse(sparse_dim), self.device());
}

// aclnnCoalesceSparse sums the values of equal indices (torch_npu/csrc/aten/ops/sparse/SparseTensorUtils.cpp).
at::Tensor coalesce(const at::Tensor& self) {
  const auto host = at::_sparse_coo_tensor_unsafe(self._indices().cpu(), self._values().cpu(), self.sizes());
  return on_device(host.coalesce(), self.device());
}

}  // namespace

void register_sparse(torch::Library& aten) {
  aten.impl("_to_sparse", TORCH_FN(to_sparse));
  aten.impl("_to_sparse.sparse_dim", TORCH_FN(to_sparse_dims));
  static auto* sparse =  // leaked, as all registrations are
      new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::SparsePrivateUse1, __FILE__, __LINE__);
  sparse->impl("_coalesce", TORCH_FN(coalesce));
}

}  // namespace npu_sim
