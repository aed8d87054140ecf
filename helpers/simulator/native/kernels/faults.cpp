#include "faults.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>

namespace npu_sim {

class Fault {
 public:
  std::string text;
  std::vector<std::string> operators;
  int64_t first = 1;
  int64_t last = std::numeric_limits<int64_t>::max();
  std::string kind;
  double value = 0;
  bool placed = false;

  // Counts a call; whether the fault strikes at it.
  bool due() {
    const int64_t call = ++calls_;
    return call >= first && call <= last;
  }

  // Only what changed a tensor counts as struck.
  void change(at::Tensor tensor) {
    struck_ += 1;
    if (kind == "scale") {
      tensor.mul_(value);
    } else if (kind == "add") {
      tensor.add_(value);
    } else if (kind == "zero") {
      tensor.zero_();
    } else if (kind == "nan") {
      tensor.flatten().slice(0, 0, 1).fill_(std::numeric_limits<double>::quiet_NaN());
    } else {
      auto normal = at::empty(tensor.sizes(), tensor.options().memory_format(at::MemoryFormat::Contiguous));
      normal.normal_(1.0, value, at::detail::createCPUGenerator(static_cast<uint64_t>(calls_)));
      tensor.mul_(normal);
    }
  }

  void report() const {
    if (struck_ == 0) {
      std::fprintf(stderr, "NPU simulator: the fault %s never struck: %lld calls of it in this process\n",
                   text.c_str(), static_cast<long long>(calls_));
    }
  }

 private:
  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> struck_{0};
};

namespace {

constexpr const char* kFaultVariable = "ASCEND_WORKBOOK_SIM_FAULT";

std::vector<std::shared_ptr<Fault>>& all_faults() {
  static auto* faults = new std::vector<std::shared_ptr<Fault>>;  // leaked: read at exit
  return *faults;
}

// Names of the API, and the operators that reach the device for them.
const std::map<std::string, std::vector<std::string>>& made_of() {
  static const std::map<std::string, std::vector<std::string>> names = {
      {"softmax", {"_softmax", "_safe_softmax"}},
      {"log_softmax", {"_log_softmax"}},
      {"layer_norm", {"native_layer_norm"}},
      {"group_norm", {"native_group_norm"}},
      {"batch_norm", {"native_batch_norm", "_native_batch_norm_legit"}},
      {"linear", {"mm", "addmm", "bmm", "linear"}},
      {"matmul", {"mm", "addmm", "bmm", "baddbmm"}},
      {"conv1d", {"convolution"}},
      {"conv2d", {"convolution"}},
      {"conv3d", {"convolution"}},
      {"max_pool2d", {"max_pool2d_with_indices"}},
      {"softmax_backward", {"_softmax_backward_data"}},
      {"log_softmax_backward", {"_log_softmax_backward_data"}},
      {"layer_norm_backward", {"native_layer_norm_backward"}},
      {"batch_norm_backward", {"native_batch_norm_backward"}},
      {"group_norm_backward", {"native_group_norm_backward"}},
      {"embedding_backward", {"embedding_dense_backward"}},
      {"conv2d_backward", {"convolution_backward"}},
      {"cross_entropy", {"nll_loss_forward", "nll_loss2d_forward"}},
      {"scaled_dot_product_attention", {"_safe_softmax", "_softmax"}}};
  return names;
}

[[noreturn]] void malformed(const std::string& text, const std::string& expected) {
  TORCH_CHECK_VALUE(false, kFaultVariable, ": in \"", text, "\", expected ", expected,
                    "; for example aten::convolution@3:scale=1.01;_softmax@*:noise=1e-3");
}

template <typename Number>
Number number(const std::string& text, const std::string& fault, const char* expected) {
  Number result{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size()) {
    malformed(fault, expected);
  }
  return result;
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\n");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

void read_calls(Fault& fault, const std::string& calls) {
  constexpr const char* expected = "calls as 3, 3-5 or *, counted from 1";
  if (calls == "*") {
    return;
  }
  const auto dash = calls.find('-');
  fault.first = number<int64_t>(calls.substr(0, dash), fault.text, expected);
  fault.last = dash == std::string::npos ? fault.first : number<int64_t>(calls.substr(dash + 1), fault.text, expected);
  if (fault.first < 1 || fault.last < fault.first) {
    malformed(fault.text, expected);
  }
}

void read_kind(Fault& fault, const std::string& kind) {
  constexpr const char* expected = "a kind: scale=X, add=X, noise=X, zero or nan";
  const auto equals = kind.find('=');
  fault.kind = kind.substr(0, equals);
  const bool has_value = equals != std::string::npos;
  const bool wants_value = fault.kind == "scale" || fault.kind == "add" || fault.kind == "noise";
  if ((!wants_value && fault.kind != "zero" && fault.kind != "nan") || wants_value != has_value) {
    malformed(fault.text, expected);
  }
  if (has_value) {
    fault.value = number<double>(kind.substr(equals + 1), fault.text, "a number after =");
  }
}

std::shared_ptr<Fault> read_fault(const std::string& text) {
  auto fault = std::make_shared<Fault>();
  fault->text = text;
  std::string body = text.rfind("aten::", 0) == 0 ? text.substr(6) : text;
  const auto colon = body.find(':');
  if (colon == std::string::npos) {
    malformed(text, "OPERATOR[@CALLS]:KIND");
  }
  const auto left = body.substr(0, colon);
  const auto at = left.find('@');
  const auto name = trimmed(left.substr(0, at));
  if (name.empty()) {
    malformed(text, "an operator's name");
  }
  const auto found = made_of().find(name);
  fault->operators = found == made_of().end() ? std::vector<std::string>{name} : found->second;
  if (at != std::string::npos) {
    read_calls(*fault, trimmed(left.substr(at + 1)));
  }
  read_kind(*fault, trimmed(body.substr(colon + 1)));
  return fault;
}

void read_fault_variable(const char* value) {
  std::stringstream parts(value);
  for (std::string part; std::getline(parts, part, ';');) {
    if (!trimmed(part).empty()) {
      all_faults().push_back(read_fault(trimmed(part)));
    }
  }
  if (all_faults().empty()) {
    malformed(value, "at least one fault, or the variable unset");
  }
}

void report_at_exit() {
  for (const auto& fault : all_faults()) {
    fault->report();
  }
}

bool is_backward(const std::string& name) { return name.find("backward") != std::string::npos; }

}  // namespace

void read_faults() {
  const char* faults = std::getenv(kFaultVariable);
  if (faults != nullptr && !trimmed(faults).empty()) {
    read_fault_variable(faults);
  }
}

std::vector<std::shared_ptr<Fault>> faults_of(const c10::OperatorName& op) {
  std::vector<std::shared_ptr<Fault>> found;
  const std::string base = op.name.substr(op.name.find("::") + 2);
  for (const auto& fault : all_faults()) {
    const auto& names = fault->operators;
    if (std::find(names.begin(), names.end(), base) != names.end() ||
        std::find(names.begin(), names.end(), base + "." + op.overload_name) != names.end()) {
      fault->placed = true;
      found.push_back(fault);
    }
  }
  return found;
}

void announce_faults() {
  for (const auto& fault : all_faults()) {
    TORCH_CHECK_VALUE(fault->placed, kFaultVariable, ": \"", fault->text,
                      "\" names no operator that runs on the simulated NPU and returns tensors");
    std::fprintf(stderr, "NPU simulator: fault on purpose: %s\n", fault->text.c_str());
  }
  if (!all_faults().empty()) {
    std::atexit(report_at_exit);
  }
}

static std::vector<at::Tensor> results_of(const torch::jit::Stack& stack, size_t count) {
  std::vector<at::Tensor> results;
  for (size_t i = stack.size() - count; i < stack.size(); ++i) {
    if (stack[i].isTensor()) {
      results.push_back(stack[i].toTensor());
    } else if (stack[i].isTensorList()) {
      for (auto& tensor : stack[i].toTensorVector()) {
        results.push_back(tensor);
      }
    }
  }
  return results;
}

void apply_faults(const std::vector<std::shared_ptr<Fault>>& faults, torch::jit::Stack* stack, size_t count) {
  for (const auto& fault : faults) {
    if (!fault->due()) {
      continue;
    }
    const bool every_result = is_backward(fault->operators.front());
    bool changed = false;
    for (const auto& tensor : results_of(*stack, count)) {
      if (tensor.defined() && tensor.is_floating_point() && (every_result || !changed)) {
        fault->change(tensor);
        changed = true;
      }
    }
  }
}

}  // namespace npu_sim
