// The kernel behind most operators of the simulated NPU: PyTorch's own CPU kernel on the same memory.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "call_limits.h"
#include "dtype_limits.h"
#include "faces.h"
#include "faults.h"
#include "graph_task.h"
#include "list_limits.h"
#include "numerics.h"
#include "shapes_only.h"
#include "torch_api.h"

namespace npu_sim {

// Below autograd and autocast: a kernel's own calls are neither recorded nor cast again.
inline const c10::DispatchKeySet kAboveKernels =
    c10::autograd_dispatch_keyset_with_ADInplaceOrView |
    c10::DispatchKeySet({c10::DispatchKey::AutocastCPU, c10::DispatchKey::AutocastPrivateUse1});

class CpuKernel : public c10::OperatorKernel {
 public:
  explicit CpuKernel(const c10::OperatorHandle& op);
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 protected:
  // Takes faces off the stack and puts results on it.
  virtual void compute(const c10::OperatorHandle& op, torch::jit::Stack* stack, c10::Device device) const;

  // Bytes that the NPU's operator keeps for its gradient beyond what the CPU's does, in the memory of the last result.
  virtual size_t kept_for_gradient(const torch::jit::Stack& stack, size_t first) const { return 0; }

  void types_are_known() { used_ = true; }  // another than dtypes.txt checks them

 private:
  struct Call;
  friend class GraphTask;

  // Computes on faces and applies faults, as the call does and each run of its graph.
  void run(const c10::OperatorHandle& op, torch::jit::Stack* stack, c10::Device device) const;

  // Of an int32 tensor in float64; the result is int32 too.
  void count_whole(const c10::OperatorHandle& op, torch::jit::Stack* stack) const;
  void compute_half(const c10::OperatorHandle& op, torch::jit::Stack* stack, at::ScalarType type) const;
  void take(Call& call, c10::IValue& value, size_t argument) const;
  at::Tensor take_tensor(Call& call, const at::Tensor& tensor, size_t argument) const;
  void give(Call& call, c10::IValue& value) const;
  static void widen(at::IValue& value, size_t nbytes);
  void find_device(Call& call, const torch::jit::Stack& stack) const;
  void check_device(Call& call, const at::Tensor& tensor, size_t argument) const;
  void check_plain(const at::Tensor& tensor) const;  // dense and not quantized
  void check_hardware(const Call& call, const at::Tensor& tensor, size_t argument) const;

  std::string name_;
  std::vector<std::string> arguments_;  // their names
  size_t return_count_;
  std::vector<bool> written_;
  optional<size_t> generator_;
  optional<size_t> index_;  // an argument that the CPU's kernel wants as int64
  std::string device_check_;  // empty: torch_npu does not compare devices
  std::shared_ptr<const DtypeLimits> limits_;  // nullptr: not known
  std::shared_ptr<const ListLimits> list_limits_;  // nullptr: not an operator on lists, or not known
  CallCheck call_check_;
  std::atomic<bool> used_{false};  // and noted, where the data types are not known
  optional<MatrixUnit> matrix_unit_;
  bool recorded_;  // by the profiler and in graphs: not what only describes memory anew
  bool waits_;     // for the device
  bool counts_;    // whole numbers
  bool dense_;     // the CPU's kernel is right for contiguous inputs alone
  bool mixes_half_;
  optional<size_t> factor_;
  mutable std::atomic<bool> in_float_;  // half precision: learnt from the first call that the CPU kernel refuses
  bool softmax_;
  std::vector<std::shared_ptr<Fault>> faults_;
  std::vector<bool> may_differ_;
  optional<ShapesOnly> shapes_only_;  // in a run of shapes only
};

}  // namespace npu_sim
