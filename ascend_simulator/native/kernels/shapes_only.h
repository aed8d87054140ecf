// The way of a kernel in a run of shapes only (shapes_only/contents.h): its results are reserved as the meta kernel says,
// and written only where all that they come from is small.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "torch_api.h"

namespace npu_sim {

class ShapesOnly {
 public:
  ShapesOnly(const c10::OperatorHandle& op, std::string name);

  // Takes the call's arguments, CPU tensors, off the stack and puts results on it; `compute` does so by computing.
  void run(const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::function<void()>& compute) const;

 private:
  enum class Kind { ordinary, view, copy, scalar, equal, nonzero, masked_select, index, unique, repeat, bincount, finite_check };

  struct Inputs {
    bool modelled = false, hollow = false;
    size_t bytes = 0;
    bool small() const;
  };

  static Kind kind_of(const c10::OperatorHandle& op);
  Inputs look(const torch::jit::Stack& stack, size_t first) const;
  void compute_known(torch::jit::Stack* stack, size_t first, const Inputs& inputs, const std::function<void()>& compute) const;
  void copy(torch::jit::Stack* stack, size_t first, const Inputs& inputs, const std::function<void()>& compute) const;
  void read_scalar(torch::jit::Stack* stack, size_t first) const;
  bool choose_rows(torch::jit::Stack* stack, size_t first) const;
  void replace_masks(torch::jit::Stack* stack, size_t first) const;
  void infer(const c10::OperatorHandle& op, torch::jit::Stack* stack, size_t first) const;
  void ask_meta(const c10::OperatorHandle& op, torch::jit::Stack* stack, size_t first) const;
  void reserve(torch::jit::Stack* stack, size_t first, const torch::jit::Stack& given) const;
  void spread_places(const at::Tensor& places, const torch::jit::Stack& given) const;
  bool fill_hollow(torch::jit::Stack* stack, size_t first) const;

  std::string name_;
  Kind kind_;
  size_t arguments_, results_;
  std::vector<bool> written_, only_written_;
  std::vector<optional<size_t>> result_of_;  // of each result: the argument that it is
  optional<size_t> out_list_;  // the list that the results are, where only its name says so
  optional<size_t> generator_;
  optional<size_t> picked_dim_;  // of an operator that gives places along a dimension: the argument that names it
  bool has_meta_, all_true_, in_place_, picks_, judges_, gives_new_ = false;
  mutable std::mutex calls_mutex_;
  mutable std::unordered_map<std::string, torch::jit::Stack> calls_;  // what the meta kernel gave, by arguments (infer)
};

}  // namespace npu_sim
