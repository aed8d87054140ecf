#include "list_limits.h"

#include <ATen/core/Tensor.h>
#include <ATen/native/ForeachUtils.h>

#include <algorithm>

#include "cann_error.h"

namespace npu_sim {
namespace {

using Lists = std::vector<std::vector<at::Tensor>>;

// "_foreach_add_.Scalar" with "add.Scalar": "aten::add_.Scalar".
std::string plain_name(const std::string& local, const std::string& plain) {
  const auto dot = plain.find('.');
  const auto base = plain.substr(0, dot), overload = dot == std::string::npos ? "" : plain.substr(dot);
  const auto own = local.substr(0, local.find('.'));
  return "aten::" + base + (own.back() == '_' ? "_" : "") + overload;
}

optional<c10::OperatorHandle> find_operator(const std::string& name) {
  const auto dot = name.find('.');
  return c10::Dispatcher::singleton().findSchema({name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)});
}

void match_arguments(ListLimits& limits, const c10::FunctionSchema& own, const c10::FunctionSchema& plain) {
  size_t at = 0;
  for (size_t i = 0; i < own.arguments().size(); ++i) {
    limits.arguments.push_back(own.arguments()[i].name());
    if (own.arguments()[i].type()->kind() != c10::TypeKind::ListType || limits.together->accepted[i] == 0) {
      continue;
    }
    while (plain.arguments()[at].type()->kind() != c10::TypeKind::TensorType) {
      ++at;
    }
    const uint64_t together = limits.together->accepted[i], apart = limits.apart->accepted[at];
    limits.lists.push_back(i);
    limits.plain_names.push_back(plain.arguments()[at].name());
    limits.either.push_back(apart == 0 ? together : together & apart);
    limits.plain_arguments.push_back(at++);
  }
}

bool in(uint64_t types, at::ScalarType type) { return (types >> static_cast<unsigned>(type) & 1) != 0; }

bool passes_either(const ListLimits& limits, const torch::jit::Stack& stack, size_t first) {
  for (size_t k = 0; k < limits.lists.size(); ++k) {
    const c10::List<at::Tensor> tensors = stack[first + limits.lists[k]].toTensorList();
    for (size_t i = 0; i < tensors.size(); ++i) {
      const at::Tensor& tensor = tensors[i];
      if (!in(limits.either[k], tensor.scalar_type()) || (limits.dims > 0 && tensor.dim() > limits.dims)) {
        return false;
      }
    }
  }
  return true;
}

Lists lists_of(const ListLimits& limits, const torch::jit::Stack& stack, size_t first) {
  Lists lists;
  for (const size_t argument : limits.lists) {
    lists.push_back(stack[first + argument].toTensorVector());
  }
  return lists;
}

std::vector<at::Scalar> scalars_of(const ListLimits& limits, const torch::jit::Stack& stack, size_t first) {
  std::vector<at::Scalar> scalars;
  for (size_t i = 0; i < limits.arguments.size(); ++i) {
    const auto& value = stack[first + i];
    if (value.isScalar()) {
      scalars.push_back(value.toScalar());
    } else if (value.isList() && !value.isTensorList()) {
      for (const auto& scalar : value.toListRef()) {
        scalars.push_back(scalar.toScalar());
      }
    }
  }
  return scalars;
}

// op_plugin/ops/opapi/ForeachNormKernelOpApi.cpp: only the 1-norm and the 2-norm.
bool norm_of_lists(const at::Scalar& order) {
  return !order.isComplex() && (order.toDouble() == 1 || order.toDouble() == 2);
}

bool goes_together(const ListLimits& limits, const Lists& lists, const torch::jit::Stack& stack, size_t first) {
  if (limits.together->route != 0 && !in(limits.together->route, lists[0][0].scalar_type())) {
    return false;
  }
  std::vector<at::Scalar> scalars;
  if (limits.name != "aten::_foreach_norm.Scalar") {
    scalars = scalars_of(limits, stack, first);
  } else if (!norm_of_lists(stack[first + 1].toScalar())) {
    return false;
  }
  const std::vector<at::TensorList> views(lists.begin(), lists.end());
  return at::native::can_use_fast_route(views, scalars);
}

void check_together(const ListLimits& limits, const Lists& lists) {
  const auto& types = *limits.together;
  for (size_t k = 0; k < lists.size(); ++k) {
    for (const at::Tensor& tensor : lists[k]) {
      const size_t argument = limits.lists[k];
      if (takes(types, argument, tensor)) {
        continue;
      }
      if (!types.says.empty() && !in(types.accepted[argument], tensor.scalar_type())) {
        refuse_as_torch_npu(types.says, types.code,
                            c10::str(limits.name, " does not take ", tensor.scalar_type(),
                                     ": torch_npu's own check (https://gitcode.com/Ascend/op-plugin, "
                                     "op_plugin/ops/opapi); use torch.float32"));
      }
      refuse_tensor(types, limits.name, limits.arguments[argument], argument, tensor);
    }
  }
}

bool on_one_device(const Lists& lists) {
  const auto device = lists[0][0].device();
  return std::all_of(lists.begin(), lists.end(), [&](const auto& list) {
    return std::all_of(list.begin(), list.end(), [&](const auto& tensor) { return tensor.device() == device; });
  });
}

void check_apart(const ListLimits& limits, const Lists& lists) {
  if (limits.apart->between_devices && !on_one_device(lists)) {
    return;
  }
  for (size_t k = 0; k < lists.size(); ++k) {
    for (const at::Tensor& tensor : lists[k]) {
      if (tensor.device().type() == at::kPrivateUse1 && !takes(*limits.apart, limits.plain_arguments[k], tensor)) {
        refuse_tensor(*limits.apart, limits.plain, limits.plain_names[k], limits.plain_arguments[k], tensor);
      }
    }
  }
}

}  // namespace

std::shared_ptr<const ListLimits> list_limits(const c10::OperatorHandle& op,
                                              std::shared_ptr<const DtypeLimits> limits) {
  if (!limits || limits->plain.empty()) {
    return nullptr;
  }
  auto found = std::make_shared<ListLimits>();
  found->name = c10::toString(op.operator_name());
  found->plain = plain_name(found->name, limits->plain);
  const auto plain = find_operator(found->plain);
  found->together = std::move(limits);
  found->apart = plain ? dtype_limits(*plain) : nullptr;
  if (!found->apart) {
    TORCH_CHECK(has_line(found->plain), "dtypes.txt: ", found->name, " names ", found->plain, ", which has no line");
    return nullptr;  // a line set aside: lists are checked as one tensor is
  }
  const int64_t one = found->together->dims, other = found->apart->dims;
  found->dims = one == 0 || other == 0 ? std::max(one, other) : std::min(one, other);
  match_arguments(*found, op.schema(), plain->schema());
  return found;
}

void check_lists(const ListLimits& limits, const torch::jit::Stack& stack, size_t first) {
  if (passes_either(limits, stack, first)) {
    return;
  }
  const auto lists = lists_of(limits, stack, first);
  const auto same = [&](const auto& list) { return list.size() == lists[0].size(); };
  if (lists[0].empty() || !std::all_of(lists.begin(), lists.end(), same)) {
    return;  // PyTorch's own kernel raises
  }
  if (goes_together(limits, lists, stack, first)) {
    check_together(limits, lists);
  } else {
    check_apart(limits, lists);
  }
}

}  // namespace npu_sim
