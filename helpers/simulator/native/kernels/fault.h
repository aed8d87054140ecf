// One fault: when it strikes, and what it does to a result.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

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
  std::optional<Range> steps, ranks;
  std::string kind;
  double value = 0;
  std::optional<at::ScalarType> dtype;
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

}  // namespace npu_sim
