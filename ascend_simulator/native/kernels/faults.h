// Faults on purpose: for learning how precision alignment finds the operator that is wrong, and how a run fails.
//
// ASCEND_WORKBOOK_SIM_FAULT, read once when the simulator starts:
//
//   FAULT [; FAULT]...          FAULT = OPERATOR [@WHEN] : KIND
//   OPERATOR   a name of PyTorch, with or without "aten::", with or without an overload: aten::convolution,
//              _softmax, native_layer_norm_backward, add.Tensor; or a pattern of fnmatch(3): *norm*, add.*. Names of
//              the API stand for what they are made of: softmax, log_softmax, layer_norm, batch_norm, group_norm,
//              linear, matmul, conv1d, conv2d, conv3d, cross_entropy, max_pool2d, scaled_dot_product_attention, and
//              with _backward the gradients of softmax, log_softmax, layer_norm, batch_norm, group_norm, embedding
//              and conv2d.
//   WHEN       conditions between commas, all of which must hold; none: always.
//              3, 3-5 or *   which calls of it in this process, counted from 1; with step= within each step
//              step=2        (2-4) which training steps, counted from 1: a step ends where an optimizer's step() does
//              rank=0        (0-1) which ranks: $RANK as torchrun sets it, 0 where it is not set
//   KIND       scale=X (times X), add=X (plus X), noise=X (each element times 1 + X * N(0, 1)), zero,
//              nan, inf (the first element becomes so),
//              dtype=T (rounded to bfloat16, float16, float8_e4m3fn or float8_e5m2 and back),
//              delay=MS (milliseconds later), error (raises error 507015, the AI core's exception)
//
// Or the path of a file: @PATH, or a path that ends in .yaml, .yml, .json or .txt. It holds faults as a YAML or JSON
// list of strings, or one a line; a line that begins with # is a comment.
//
// The first result of a forward operator is changed, every gradient of a backward one. An active fault says so on
// stderr; one whose calls never came says that when the process ends; a value that does not follow this grammar, or
// names no simulated operator, stops the start.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "torch_api.h"

namespace npu_sim {

struct Range {
  int64_t first = 1;
  int64_t last = std::numeric_limits<int64_t>::max();
  bool holds(int64_t number) const { return number >= first && number <= last; }
};

class Fault {
 public:
  std::string text;                    // as it was written
  std::vector<std::string> operators;  // names without "aten::", or patterns of fnmatch(3)
  Range calls;
  optional<Range> steps, ranks;
  std::string kind;
  double value = 0;
  optional<at::ScalarType> dtype;
  bool placed = false;

  // Whether an operator, "softmax.int" or "softmax", is meant.
  bool names(const std::string& base, const std::string& overload) const;

  // Counts a call; whether the fault strikes at it.
  bool due();

  // What needs no tensor: waits, or throws the error of a failing AI core. False where the kind changes tensors.
  bool disturb(const std::string& op);

  // Changes a floating-point tensor in place.
  void change(at::Tensor tensor);

  int64_t counted() const { return total_; }
  int64_t struck() const { return struck_; }

 private:
  std::mutex mutex_;
  int64_t step_ = 0;         // of the last call
  int64_t within_step_ = 0;  // calls in that step
  std::atomic<int64_t> total_{0};
  std::atomic<int64_t> struck_{0};
};

// The faults of ASCEND_WORKBOOK_SIM_FAULT's value, or of the file that it names. Throws c10::Error, a ValueError in
// Python, that names what was expected and where.
std::vector<std::shared_ptr<Fault>> read_fault_text(const std::string& value);

// From now on training steps are counted, by which `steps` goes: one is under way until an optimizer's step() returns.
// torch wraps every optimizer's step in a record_function named "Optimizer.step#CLASS.step" (torch/optim/optimizer.py,
// profile_hook_step); torch_npu's fused ones are subclasses.
void count_training_steps();

// Reads the variable; throws c10::Error on a malformed value.
void read_faults();

// The faults of one operator; counts as placed. None for an operator that returns nothing or a view: it has no result
// of its own to change.
std::vector<std::shared_ptr<Fault>> faults_of(const c10::OperatorHandle& op);

// Throws c10::Error if a fault names no simulated operator; says on stderr which are active.
void announce_faults();

// Counts this call for each fault and changes the results (the last `count` of the stack) where one is due.
void apply_faults(const std::vector<std::shared_ptr<Fault>>& faults, const std::string& op, torch::jit::Stack* stack,
                  size_t count);

}  // namespace npu_sim
