#include "launch.h"

#include <ATen/core/function_schema.h>

#include <memory>

#include "queue_order.h"
#include "traits.h"

namespace npu_sim {
namespace {

// The names of aclDataType, as in CANN's tables (acl/acl_base.h).
const char* type_name(at::ScalarType type) {
  switch (type) {
    case at::kFloat: return "FLOAT";
    case at::kHalf: return "FLOAT16";
    case at::kBFloat16: return "DT_BF16";
    case at::kDouble: return "DOUBLE";
    case at::kChar: return "INT8";
    case at::kByte: return "UINT8";
    case at::kShort: return "INT16";
    case at::kInt: return "INT32";
    case at::kLong: return "INT64";
    case at::kBool: return "BOOL";
    case at::kComplexFloat: return "COMPLEX64";
    case at::kComplexDouble: return "COMPLEX128";
    default: return at::toString(type);
  }
}

// Whether the last two dimensions lie the other way round, as of a matrix that was transposed and not copied.
bool is_turned(const at::Tensor& tensor) {
  const auto last = tensor.dim() - 1;
  return last >= 1 && tensor.layout() == at::kStrided && tensor.stride(last - 1) == 1 && tensor.stride(last) > 1 &&
         tensor.size(last - 1) > 1 && tensor.size(last) > 1;
}

void add(sim::Operands& operands, const at::Tensor& tensor, size_t number) {
  if (tensor.defined() && is_turned(tensor)) {
    operands.turned += (operands.turned.empty() ? "" : ",") + std::to_string(number);
  }
  if (!operands.types.empty()) {
    operands.shapes += ';';
    operands.types += ';';
  }
  if (!tensor.defined()) {
    operands.types += "N/A";
    return;
  }
  const char* between = "";
  for (const auto size : tensor.sizes()) {
    operands.shapes += between + std::to_string(size);
    between = ",";
  }
  operands.types += type_name(tensor.scalar_type());
}

sim::Operands operands_of(const torch::jit::Stack& stack, size_t count) {
  sim::Operands operands;
  size_t number = 0;
  for (size_t i = stack.size() - count; i < stack.size(); ++i) {
    if (stack[i].isTensor()) {
      add(operands, stack[i].toTensor(), number++);
    } else if (stack[i].isTensorList()) {
      for (const at::Tensor& tensor : stack[i].toTensorVector()) {
        add(operands, tensor, number++);
      }
    }
  }
  return operands;
}

bool touches_host(const torch::jit::Stack& stack, size_t count) {
  for (size_t i = stack.size() - count; i < stack.size(); ++i) {
    if (stack[i].isTensor() && stack[i].toTensor().defined() && stack[i].toTensor().is_cpu()) {
      return true;
    }
  }
  return false;
}

// What crosses between host and device is a copy of the runtime, as on hardware.
bool is_copy(const std::string& name, const torch::jit::Stack& stack, size_t count) {
  return name == "aten::_local_scalar_dense" || (name == "aten::copy_" && touches_host(stack, count));
}

// What a copy between host and device moves, and which way.
void describe_copy(sim::Task& task, const torch::jit::Stack& stack, size_t count) {
  const at::Tensor& first = stack[stack.size() - count].toTensor();
  task.bytes = first.numel() * first.element_size();
  task.to_host = task.name == "aten::_local_scalar_dense" || first.is_cpu();
}

struct Moment {
  uint64_t called_ns = 0, returned_ns = 0;
  long thread = 0;
};

}  // namespace

Launch::Launch(const std::string& name, c10::Device device, const torch::jit::Stack& stack, size_t arguments) {
  const bool copy = is_copy(name, stack, arguments);
  task_.kind = copy ? sim::Task::copy : sim::Task::kernel;
  task_.name = name;
  if (copy) {
    describe_copy(task_, stack, arguments);
    task_.name = "MEMCPY_ASYNC";
  }
  task_.api = copy ? "aclrtMemcpyAsync" : "launch";
  task_.device = device.index();
  const auto moment = std::make_shared<Moment>();
  run_in_queue(name, [moment] {
    moment->called_ns = sim::record_clock_ns();
    moment->thread = sim::thread_number();
    moment->returned_ns = sim::record_clock_ns();
    return 0;
  });
  task_.stream = sim::stream_number(drain_queue(device));
  task_.called_ns = moment->called_ns;
  task_.returned_ns = moment->returned_ns;
  task_.thread = moment->thread;
  if (sim::recording_operands()) {
    task_.inputs = operands_of(stack, arguments);
  }
}

void Launch::end(const torch::jit::Stack& stack, size_t results) {
  task_.end_ns = sim::record_clock_ns();
  if (sim::recording_operands()) {
    task_.outputs = operands_of(stack, results);
  }
  sim::record(std::move(task_));
}

bool moves_no_data(const c10::FunctionSchema& schema) {
  const auto& results = schema.returns();
  const auto* alias = results.empty() ? nullptr : results[0].alias_info();
  return has_trait("in_place", schema.name()) || (alias != nullptr && !alias->isWrite());
}

}  // namespace npu_sim
