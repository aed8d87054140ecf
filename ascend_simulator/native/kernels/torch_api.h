// What differs between the releases of torch that the kernels are compiled for, and nowhere else. Each TORCH_HAS_ is
// given by the build (libraries/features.py), which reads it from the headers of the wheel that is there.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/Optional.h>

#include <utility>

namespace npu_sim {

// The standard's, or a type of torch's own.
using c10::nullopt;
using c10::optional;

// Data types that this torch does not know get numbers that no tensor has.
#if TORCH_HAS_UNSIGNED_TYPES
constexpr auto kUInt16 = at::ScalarType::UInt16, kUInt32 = at::ScalarType::UInt32, kUInt64 = at::ScalarType::UInt64;
#else
constexpr auto kUInt16 = at::ScalarType(61), kUInt32 = at::ScalarType(62), kUInt64 = at::ScalarType(63);
#endif
#if TORCH_HAS_FLOAT8_E8M0
constexpr auto kFloat8E8M0 = at::ScalarType::Float8_e8m0fnu;
#else
constexpr auto kFloat8E8M0 = at::ScalarType(60);
#endif

// The kernel that a dispatch key leads to now, kept when another is registered for the key.
#if TORCH_HAS_SAFE_KERNEL
using KeptKernel = c10::SafeKernelFunction;
inline KeptKernel kernel_of(const c10::OperatorHandle& op, c10::DispatchKey key) {
  return op.getComputedKernelForDispatchKey(key);
}
#else
using KeptKernel = c10::KernelFunction;
// Nothing public gives a kernel away there. The standard lets an explicit instantiation name the private member that
// holds the operator's table ([temp.explicit]).
namespace private_member {
template <auto Member>
struct Table {
  friend const auto& table_of(const c10::OperatorHandle& op) { return (op.*Member)->op; }
};
const auto& table_of(const c10::OperatorHandle& op);
template struct Table<&c10::OperatorHandle::operatorDef_>;
}  // namespace private_member
inline KeptKernel kernel_of(const c10::OperatorHandle& op, c10::DispatchKey key) {
  return private_member::table_of(op).lookup(c10::DispatchKeySet(key));
}
#endif

// A storage that torch_npu's own function makes around memory.
inline c10::intrusive_ptr<c10::StorageImpl> make_storage(c10::StorageImplCreateHelper create, c10::DataPtr data,
                                                         size_t nbytes, c10::Allocator* allocator) {
  constexpr bool kResizable = true;
#if TORCH_HAS_STORAGE_AROUND_MEMORY
  return create(c10::StorageImpl::use_byte_size_t(), c10::SymInt(static_cast<int64_t>(nbytes)), std::move(data), allocator,
                kResizable);
#else
  auto storage = create(c10::StorageImpl::use_byte_size_t(), c10::SymInt(0), allocator, kResizable);
  storage->set_data_ptr_noswap(std::move(data));
  storage->set_nbytes(nbytes);
  return storage;
#endif
}

}  // namespace npu_sim
