#include "shapes_only.h"

#include <ATen/core/Tensor.h>
#include <ATen/ExpandUtils.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <unordered_map>
#include <unordered_set>

#include "../shapes_only/contents.h"
#include "device_memory.h"
#include "launch.h"
#include "reads.h"
#include "tensors.h"

namespace npu_sim {
namespace {

using sim::Content;

at::TensorOptions longs() { return at::TensorOptions().dtype(at::kLong); }

// Beyond this many times the bytes that are kept, a view is not filled with stand-ins where it lies but copied.
constexpr size_t kWidest = 8;

size_t bytes_of(const at::Tensor& tensor) { return tensor.numel() * tensor.element_size(); }

// What counts against the bytes that are kept. Integers say which rows, which experts, how many: they count for a sixteenth
// of what numbers that only flow do.
size_t weight_of(const at::Tensor& tensor) {
  constexpr size_t kIntegersCount = 16;
  return at::isIntegralType(tensor.scalar_type(), false) ? bytes_of(tensor) / kIntegersCount : bytes_of(tensor);
}

// The bytes from a tensor's first element to its last; what lies between them may be others'.
size_t extent_of(const at::Tensor& tensor) {
  if (tensor.numel() == 0) {
    return 0;
  }
  int64_t last = 0;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    last += (tensor.size(dim) - 1) * tensor.stride(dim);
  }
  return (static_cast<size_t>(last) + 1) * tensor.element_size();
}

const void* begin_of(const at::Tensor& tensor) {
  return tensor.has_storage() && tensor.storage().data() != nullptr
      ? static_cast<const char*>(tensor.storage().data()) + tensor.storage_offset() * tensor.element_size()
      : nullptr;
}

Content content_of(const at::Tensor& tensor) {
  const void* begin = begin_of(tensor);
  return begin == nullptr ? Content::known : sim::content_of(begin, extent_of(tensor));
}

void set_content(const at::Tensor& tensor, Content content) {
  const void* begin = begin_of(tensor);
  if (begin == nullptr || (content == Content::known && !tensor.is_non_overlapping_and_dense())) {
    return;  // between the elements lies what others have written
  }
  sim::set_content(begin, extent_of(tensor), content);
}

double stand_in_for(at::ScalarType type) { return at::isFloatingType(type) || at::isComplexType(type) ? 1 : 0; }

template <typename Visit>
void each_tensor(const c10::IValue& value, const Visit& visit) {
  any_tensor(value, [&](const at::Tensor& tensor) {
    visit(tensor);
    return false;
  });
}

at::Tensor meta_of(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    return tensor;
  }
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta).pinned_memory(false));
}

// A result that no kernel writes. A stand-in is written where it is read (fill_hollow), or where it is another than its
// type's, or lies in memory that cannot say what it holds.
at::Tensor reserve_like(const at::Tensor& meta, double stand_in) {
  if (!meta.defined()) {
    return meta;
  }
  auto tensor = at::empty_strided(meta.sizes(), meta.strides(), meta.options().device(at::kCPU));
  const bool large = sim::too_large_to_keep(weight_of(tensor));
  const bool usual = stand_in == stand_in_for(tensor.scalar_type());
  // On the host an operator that is none of traits.txt's reads what lies there. What was compared says neither yes nor no.
  const bool on_host = marks_on_host();
  if (!large && (!usual || on_host || !sim::can_be_marked(begin_of(tensor)))) {
    tensor.fill_(stand_in);
    set_content(tensor, on_host && usual && tensor.scalar_type() == at::kBool ? Content::hollow : Content::stand_in);
  } else {
    set_content(tensor, Content::hollow);
  }
  return tensor;
}

// What arithmetic on stand-ins makes of them is no sign of anything: 0 / 0, log(0).
void keep_finite(const at::Tensor& tensor) {
  if (!at::isFloatingType(tensor.scalar_type()) || tensor.numel() == 0 || !tensor.is_cpu()) {
    return;
  }
  AllocateOnNpu host(false);
  const auto finite = at::isfinite(tensor);
  if (!finite.all().item<bool>()) {
    at::Tensor(tensor).masked_fill_(finite.logical_not(), 1);
  }
}

bool fills(const std::string& name) {
  static const std::unordered_set<std::string> names = {
      "aten::fill_",       "aten::zero_",        "aten::copy_",    "aten::normal_",     "aten::uniform_",  "aten::random_",
      "aten::bernoulli_",  "aten::exponential_", "aten::cauchy_",  "aten::log_normal_", "aten::geometric_"};
  return names.count(name) > 0;
}

// Operators that say where along a dimension something lies, in their integer result.
bool picks_places(const std::string& name) {
  static const std::unordered_set<std::string> names = {"aten::topk", "aten::sort",   "aten::argsort",     "aten::argmax",
                                                        "aten::max",  "aten::min",    "aten::argmin",      "aten::multinomial",
                                                        "aten::mode", "aten::median", "aten::kthvalue"};
  return names.count(name) > 0;
}

// `rows` places of `total`, evenly spread.
at::Tensor spread(int64_t rows, int64_t total) {
  auto places = at::arange(rows, at::TensorOptions().dtype(at::kLong));
  return rows == 0 ? places : places.mul(total).div(rows, "floor");
}

bool is_mask(const at::Tensor& tensor) { return tensor.scalar_type() == at::kBool || tensor.scalar_type() == at::kByte; }

// One column of indices for each dimension of a mask: those of its true elements, or of as many as are assumed.
std::vector<at::Tensor> columns_of(const std::string& op, const at::Tensor& mask) {
  if (content_of(mask) == Content::known) {
    auto columns = at::nonzero(mask).unbind(1);
    return {columns.begin(), columns.end()};
  }
  auto places = spread(assumed_rows(op, mask, mask.numel()), std::max<int64_t>(mask.numel(), 1));
  std::vector<at::Tensor> columns(mask.dim());
  for (int64_t dim = mask.dim() - 1; dim >= 0; --dim) {
    columns[dim] = places.remainder(std::max<int64_t>(mask.size(dim), 1));
    places = places.div(std::max<int64_t>(mask.size(dim), 1), "floor");
  }
  return columns;
}

// A tensor of results that are not the values' own: written where it is small.
at::Tensor give_modelled(const at::Tensor& values, bool on_npu) {
  const bool large = sim::too_large_to_keep(weight_of(values));
  at::Tensor result;
  if (on_npu) {
    AllocateOnNpu npu;
    result = at::empty(values.sizes(), values.options());
  } else {
    result = at::empty(values.sizes(), values.options());
  }
  if (!large) {
    result.copy_(values);
  }
  set_content(result, large ? Content::hollow : Content::stand_in);
  return result;
}

}  // namespace

bool ShapesOnly::Inputs::small() const { return !sim::too_large_to_keep(bytes); }

ShapesOnly::Kind ShapesOnly::kind_of(const c10::OperatorHandle& op) {
  static const std::unordered_map<std::string, Kind> kinds = {
      {"aten::copy_", Kind::copy},
      {"aten::_local_scalar_dense", Kind::scalar},
      {"aten::equal", Kind::equal},
      {"aten::nonzero", Kind::nonzero},
      {"aten::masked_select", Kind::masked_select},
      {"aten::index", Kind::index},
      {"aten::_unique", Kind::unique},
      {"aten::_unique2", Kind::unique},
      {"aten::unique_dim", Kind::unique},
      {"aten::unique_consecutive", Kind::unique},
      {"aten::unique_dim_consecutive", Kind::unique},
      {"aten::repeat_interleave", Kind::repeat},
      {"aten::bincount", Kind::bincount},
      {"aten::_amp_foreach_non_finite_check_and_unscale_", Kind::finite_check},
  };
  const auto& returns = op.schema().returns();
  for (const auto& result : returns) {
    if (result.alias_info() != nullptr && !result.alias_info()->isWrite()) {
      return Kind::view;
    }
  }
  if (moves_no_data(op.schema())) {
    return Kind::view;
  }
  const auto found = kinds.find(op.operator_name().name);
  return found == kinds.end() ? Kind::ordinary : found->second;
}

ShapesOnly::ShapesOnly(const c10::OperatorHandle& op, std::string name)
    : name_(std::move(name)),
      kind_(kind_of(op)),
      arguments_(op.schema().arguments().size()),
      results_(op.schema().returns().size()),
      all_true_(op.operator_name().name == "aten::all" || op.operator_name().name == "aten::isfinite"),
      picks_(picks_places(op.operator_name().name)),
      judges_(all_true_ || op.operator_name().name == "aten::any") {
  const auto& schema = op.schema();
  for (const auto& argument : schema.arguments()) {
    const auto* alias = argument.alias_info();
    written_.push_back(alias != nullptr && alias->isWrite());
    only_written_.push_back(written_.back() && (argument.is_out() || (written_.size() == 1 && fills(schema.name()))));
    if (argument.name() == "generator") {
      generator_ = written_.size() - 1;
    }
    if (argument.name() == "dim") {
      picked_dim_ = written_.size() - 1;
    }
    // torch_npu's Adam steps: `*, Tensor[] out`, of which the schema does not say that the results are those
    if (argument.name() == "out" && alias == nullptr && argument.type()->isSubtypeOf(*c10::ListType::ofTensors())) {
      out_list_ = written_.size() - 1;
      written_.back() = true;
    }
  }
  in_place_ = results_ > 0;
  for (const auto& result : schema.returns()) {
    optional<size_t> same;
    for (size_t i = 0; i < arguments_ && result.alias_info() != nullptr; ++i) {
      const auto* alias = schema.arguments()[i].alias_info();
      if (alias != nullptr && alias->beforeSets() == result.alias_info()->beforeSets()) {
        same = i;
        break;
      }
    }
    in_place_ = in_place_ && same && !schema.arguments()[*same].is_out();
    result_of_.push_back(same);
  }
  gives_new_ = results_ > 0 && !out_list_;
  for (const bool written : written_) {
    gives_new_ = gives_new_ && !written;
  }
  has_meta_ = op.hasKernelForDispatchKey(c10::DispatchKey::Meta) ||
              op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
              op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional);
}

ShapesOnly::Inputs ShapesOnly::look(const torch::jit::Stack& stack, size_t first) const {
  Inputs inputs;
  for (size_t i = 0; i < arguments_; ++i) {
    each_tensor(stack[first + i], [&](const at::Tensor& tensor) {
      inputs.bytes += weight_of(tensor);
      if (!only_written_[i]) {
        const Content content = content_of(tensor);
        inputs.modelled |= content != Content::known;
        inputs.hollow |= content == Content::hollow;
      }
    });
  }
  return inputs;
}

// Writes stand-ins where small inputs hold nothing. False where a small view reaches too far through a large tensor that
// is to be written.
bool ShapesOnly::fill_hollow(torch::jit::Stack* stack, size_t first) const {
  AllocateOnNpu host(false);  // inside a kernel: on the host, too, the stand-ins are written (lazy_host.h)
  bool all = true;
  for (size_t i = 0; i < arguments_; ++i) {
    if (only_written_[i]) {
      continue;
    }
    change_tensors((*stack)[first + i], [&](at::Tensor tensor) {
      if (!tensor.defined() || content_of(tensor) != Content::hollow) {
        return tensor;
      }
      const size_t extent = extent_of(tensor);
      const double value = stand_in_for(tensor.scalar_type());
      if (extent > kWidest * sim::keep_bytes()) {
        if (written_[i]) {
          all = false;
          return tensor;
        }
        return at::full(tensor.sizes(), value, tensor.options());
      }
      const auto width = static_cast<size_t>(tensor.element_size());
      const auto* begin = static_cast<const char*>(begin_of(tensor));
      for (const auto& part : sim::hollow_parts(begin, extent)) {
        const size_t before = static_cast<size_t>(part.begin - begin) % width;  // a part begins and ends with an element
        auto flat = at::from_blob(part.begin - before, {static_cast<int64_t>((part.bytes + before) / width)}, tensor.options());
        flat.fill_(value);
        sim::set_content(part.begin, part.bytes, Content::stand_in);
      }
      return tensor;
    });
  }
  return all;
}

// Stand-ins for places: each in its turn, so that experts chosen by a router that was not computed get the same share.
void ShapesOnly::spread_places(const at::Tensor& places, const torch::jit::Stack& given) const {
  if (places.scalar_type() != at::kLong || places.numel() == 0 || !given.front().isTensor()) {
    return;
  }
  const auto& self = given.front().toTensor();
  int64_t dim = self.dim() - 1, among = self.numel();
  if (picked_dim_ && given[*picked_dim_].isInt()) {
    dim = at::maybe_wrap_dim(given[*picked_dim_].toInt(), self.dim());
  }
  if (self.dim() > 0 && (!picked_dim_ || given[*picked_dim_].isInt())) {
    among = self.size(dim);
  }
  AllocateOnNpu host(false);
  const bool sorted = places.dim() > 1 && dim < places.dim() - 1 && places.dim() == self.dim();
  auto values = at::arange(sorted ? places.size(dim) : places.numel(), longs()).remainder_(std::max<int64_t>(among, 1));
  if (sorted) {
    std::vector<int64_t> sizes(places.dim(), 1);
    sizes[dim] = places.size(dim);
    at::Tensor(places).copy_(values.view(sizes).expand(places.sizes()));
  } else {
    at::Tensor(places).copy_(values.view(places.sizes()));
  }
}

void ShapesOnly::compute_known(torch::jit::Stack* stack, size_t first, const Inputs& inputs,
                               const std::function<void()>& compute) const {
  torch::jit::Stack written;
  for (size_t i = 0; i < arguments_; ++i) {
    if (written_[i]) {
      written.push_back((*stack)[first + i]);
    }
  }
  torch::jit::Stack given;
  if (picks_ && inputs.modelled) {
    given.assign(stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end());
  }
  compute();
  const auto say = [&](const at::Tensor& tensor) {
    if (inputs.modelled) {
      keep_finite(tensor);
    }
    set_content(tensor, inputs.modelled ? Content::stand_in : Content::known);
  };
  for (const auto& value : written) {
    each_tensor(value, say);
  }
  for (size_t i = 0; i < results_; ++i) {
    if (!result_of_[i]) {
      const auto& value = (*stack)[stack->size() - results_ + i];
      each_tensor(value, say);
      if (!given.empty()) {
        each_tensor(value, [&](const at::Tensor& tensor) { spread_places(tensor, given); });
      }
    }
  }
}

void ShapesOnly::copy(torch::jit::Stack* stack, size_t first, const Inputs& inputs,
                      const std::function<void()>& compute) const {
  const at::Tensor to = (*stack)[first].toTensor(), from = (*stack)[first + 1].toTensor();
  const bool large = sim::too_large_to_keep(weight_of(to));
  const bool to_host = !is_device_memory(begin_of(to)) && is_device_memory(begin_of(from));
  if (!large && fill_hollow(stack, first)) {
    compute_known(stack, first, inputs, compute);
  } else {
    stack->erase(stack->begin() + static_cast<std::ptrdiff_t>(first) + 1, stack->end());
    set_content(to, Content::hollow);
  }
  if (to_host && inputs.modelled) {
    const bool one = to.numel() == 1 && !large;
    optional<double> value;
    if (one && !at::isComplexType(to.scalar_type())) {
      value = to.item().toDouble();
    }
    const auto told = note_read({"aten::copy_", to.scalar_type(), to.sizes().vec(), value});
    if (told && !large) {
      to.fill_(*told);
    }
  }
}

void ShapesOnly::read_scalar(torch::jit::Stack* stack, size_t first) const {
  const at::Tensor tensor = (*stack)[first].toTensor();
  const bool equal = kind_ == Kind::equal;
  const auto type = equal ? at::kBool : tensor.scalar_type();
  at::Scalar value(true);
  if (!equal) {
    AllocateOnNpu host(false);  // inside a kernel: a large tensor of the host would come here again (lazy_host.h)
    value = tensor.item();
  }
  const auto told = note_read({name_, type, equal ? std::vector<int64_t>{} : tensor.sizes().vec(),
                               value.isComplex() ? nullopt : optional<double>(value.toDouble())});
  if (told) {
    value = at::isFloatingType(type) ? at::Scalar(*told) : type == at::kBool ? at::Scalar(*told != 0)
                                                                             : at::Scalar(static_cast<int64_t>(*told));
  }
  stack->resize(first);
  equal ? stack->push_back(value.toBool()) : stack->push_back(value);
}

// Results that are as long as modelled values say. False where no argument that says so is modelled.
bool ShapesOnly::choose_rows(torch::jit::Stack* stack, size_t first) const {
  const at::Tensor self = (*stack)[first].toTensor();
  const at::Tensor values = kind_ == Kind::masked_select ? (*stack)[first + 1].toTensor() : self;
  if (content_of(values) == Content::known) {
    return false;
  }
  const bool on_npu = inside_kernel();
  AllocateOnNpu host(false);
  std::vector<at::Tensor> results;
  switch (kind_) {
    case Kind::nonzero: {
      auto columns = columns_of(name_, self);
      results = {columns.empty() ? at::empty({1, 0}, longs()) : at::stack(columns, 1)};
      break;
    }
    case Kind::masked_select: {
      const auto sizes = at::infer_size(self.sizes(), values.sizes());
      const int64_t most = c10::multiply_integers(sizes);
      results = {at::full({assumed_rows(name_, values, most)}, stand_in_for(self.scalar_type()), self.options())};
      break;
    }
    case Kind::repeat: {
      const auto size = (*stack)[first + 1].toOptional<int64_t>();
      const int64_t most = values.numel();
      if (!size) {
        note_read({name_, values.scalar_type(), values.sizes().vec(), nullopt, true});
      }
      results = {spread(size.value_or(most), std::max<int64_t>(most, 1))};
      break;
    }
    case Kind::bincount: {
      const auto least = (*stack)[first + 2].toInt();
      note_read({name_, values.scalar_type(), values.sizes().vec(), nullopt, true});
      const int64_t bins = std::max<int64_t>(least, 1), all = values.numel();
      auto counts = at::full({bins}, all / bins, longs());
      counts.narrow(0, 0, all % bins).add_(1);
      const auto weights = (*stack)[first + 1].toOptional<at::Tensor>();
      results = {weights && weights->defined() ? counts.to(at::kDouble) : counts};
      break;
    }
    default: {  // unique in its forms: values, inverse, counts
      const bool by_dim = name_.find("unique_dim") != std::string::npos;
      const int64_t dim = by_dim ? (*stack)[first + 1].toInt() : 0;
      const int64_t most = by_dim ? self.size(dim) : self.numel();
      const int64_t rows = std::max<int64_t>(assumed_rows(name_, self, most), most > 0 ? 1 : 0);
      auto sizes = by_dim ? self.sizes().vec() : std::vector<int64_t>{rows};
      if (by_dim) {
        sizes[dim < 0 ? dim + self.dim() : dim] = rows;
      }
      results.push_back(at::full(sizes, stand_in_for(self.scalar_type()), self.options()));
      results.push_back(at::zeros(by_dim ? at::IntArrayRef(most) : self.sizes(), longs()));
      if (results_ == 3) {
        auto counts = at::full({rows}, rows == 0 ? 0 : most / rows, longs());
        counts.narrow(0, 0, rows == 0 ? 0 : most % rows).add_(1);
        results.push_back(counts);
      }
    }
  }
  stack->resize(first);
  for (const auto& result : results) {
    stack->push_back(give_modelled(result, on_npu));
  }
  return true;
}

// Of aten::index: masks among the indices become the indices that they stand for.
void ShapesOnly::replace_masks(torch::jit::Stack* stack, size_t first) const {
  const bool on_npu = inside_kernel();
  AllocateOnNpu host(false);
  c10::List<optional<at::Tensor>> indices;
  bool masks = false;
  for (const optional<at::Tensor> index : (*stack)[first + 1].toOptionalTensorList()) {
    if (index && index->defined() && is_mask(*index)) {
      masks = true;
      const bool modelled = content_of(*index) != Content::known;
      for (const auto& column : columns_of(name_, *index)) {
        indices.push_back(modelled ? give_modelled(column, on_npu) : column);
      }
    } else {
      indices.push_back(index);
    }
  }
  if (masks) {
    (*stack)[first + 1] = indices;
  }
}

namespace {

// Writes all that a meta kernel's results depend on to the end of `key`. False for a value of which that is not known.
bool describe(const c10::IValue& value, std::string* key) {
  const auto put = [key](int64_t number) { key->append(reinterpret_cast<const char*>(&number), sizeof number); };
  const auto tensor = [&](const at::Tensor& given) {
    if (!given.defined()) {
      key->push_back('u');
      return true;
    }
    if (given.layout() != at::kStrided || given.is_conj() || given.is_neg()) {
      return false;
    }
    key->push_back(given.unsafeGetTensorImpl()->is_wrapped_number() ? 'w' : 't');
    put(static_cast<int64_t>(given.scalar_type()));
    put(given.dim());
    for (int64_t dim = 0; dim < given.dim(); ++dim) {
      put(given.size(dim));
      put(given.stride(dim));
    }
    return true;
  };
  if (value.isTensor()) {
    return tensor(value.toTensor());
  }
  if (value.isNone()) {
    key->push_back('n');
  } else if (value.isInt()) {
    key->push_back('i');
    put(value.toInt());
  } else if (value.isBool()) {
    key->push_back(value.toBool() ? 'y' : 'f');
  } else if (value.isDouble()) {
    const double number = value.toDouble();
    key->push_back('d');
    key->append(reinterpret_cast<const char*>(&number), sizeof number);
  } else if (value.isString()) {
    key->push_back('s');
    put(static_cast<int64_t>(value.toStringRef().size()));
    key->append(value.toStringRef());
  } else if (value.isDevice() || value.isGenerator()) {
    key->push_back('g');
  } else if (value.isIntList() || value.isBoolList() || value.isDoubleList() || value.isTensorList() ||
             value.isOptionalTensorList()) {
    const auto list = value.toList();
    key->push_back('l');
    put(static_cast<int64_t>(list.size()));
    for (size_t i = 0; i < list.size(); ++i) {
      if (!describe(list.get(i), key)) {
        return false;
      }
    }
  } else {
    return false;
  }
  return true;
}

// Calls that are kept of an operator: a training repeats a few, however many steps it makes.
constexpr size_t kMostCalls = 1024;

}  // namespace

// Puts the results of the meta kernel on the stack in the place of the arguments, those of an equal call where there was
// one: what meta kernels in Python take is most of a step's time.
void ShapesOnly::infer(const c10::OperatorHandle& op, torch::jit::Stack* stack, size_t first) const {
  std::string key;
  bool repeats = gives_new_;
  for (size_t i = 0; i < arguments_ && repeats; ++i) {
    repeats = describe((*stack)[first + i], &key);
  }
  if (!repeats) {
    return ask_meta(op, stack, first);
  }
  {
    std::lock_guard<std::mutex> lock(calls_mutex_);
    const auto found = calls_.find(key);
    if (found != calls_.end()) {
      stack->resize(first);
      stack->insert(stack->end(), found->second.begin(), found->second.end());
      return;
    }
  }
  ask_meta(op, stack, first);
  std::lock_guard<std::mutex> lock(calls_mutex_);
  if (calls_.size() < kMostCalls) {
    calls_[key] = torch::jit::Stack(stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end());
  }
}

void ShapesOnly::ask_meta(const c10::OperatorHandle& op, torch::jit::Stack* stack, size_t first) const {
  for (size_t i = 0; i < arguments_; ++i) {
    auto& value = (*stack)[first + i];
    if (value.isTensor()) {
      value = meta_of(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) {
        list.push_back(meta_of(tensor));
      }
      value = std::move(list);
    } else if (value.isOptionalTensorList()) {
      c10::List<optional<at::Tensor>> list;
      for (const optional<at::Tensor> tensor : value.toOptionalTensorList()) {
        list.push_back(tensor ? optional<at::Tensor>(meta_of(*tensor)) : tensor);
      }
      value = std::move(list);
    } else if (value.isDevice()) {
      value = c10::Device(at::kMeta);
    } else if (generator_ && i == *generator_) {
      value = c10::IValue();
    }
  }
  AllocateOnNpu host(false);
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), stack);
}

// Reserves what the meta kernel's results say, in their place on the stack.
void ShapesOnly::reserve(torch::jit::Stack* stack, size_t first, const torch::jit::Stack& given) const {
  for (size_t i = 0; i < results_; ++i) {
    auto& value = (*stack)[first + i];
    if (const auto same = result_of_[i]) {
      const auto& argument = given[*same];
      if (value.isTensor() && argument.isTensor() && value.toTensor().sizes() != argument.toTensor().sizes()) {
        argument.toTensor().resize_(value.toTensor().sizes());  // out=
      }
      value = argument;
    } else if (out_list_ && i < given[*out_list_].toTensorVector().size()) {
      value = given[*out_list_].toTensorVector()[i];
    } else {
      change_tensors(value, [&](const at::Tensor& meta) {
        const auto result = reserve_like(meta, all_true_ ? 1 : stand_in_for(meta.scalar_type()));
        if (picks_ && result.defined() && result.scalar_type() == at::kLong && !sim::too_large_to_keep(weight_of(result))) {
          spread_places(result, given);
          set_content(result, Content::stand_in);
        }
        return result;
      });
    }
  }
  for (size_t i = 0; i < arguments_; ++i) {
    if (!written_[i]) {
      continue;
    }
    each_tensor(given[i], [&](const at::Tensor& tensor) {
      const bool large = sim::too_large_to_keep(weight_of(tensor));
      if (!large && all_true_) {
        at::Tensor(tensor).fill_(1);
        return set_content(tensor, Content::stand_in);
      }
      const bool holds = !large && !only_written_[i] && content_of(tensor) != Content::hollow;
      set_content(tensor, holds ? Content::stand_in : Content::hollow);
    });
  }
}

void ShapesOnly::run(const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::function<void()>& compute) const {
  if (kind_ == Kind::view) {
    return compute();
  }
  const size_t first = stack->size() - arguments_;
  if (kind_ == Kind::index) {
    replace_masks(stack, first);
  }
  const Inputs inputs = look(*stack, first);
  switch (kind_) {
    case Kind::copy:
      return copy(stack, first, inputs, compute);
    case Kind::scalar:
    case Kind::equal:
      if (!inputs.modelled) {
        return compute();
      }
      fill_hollow(stack, first);
      return read_scalar(stack, first);
    case Kind::nonzero:
    case Kind::masked_select:
    case Kind::unique:
    case Kind::repeat:
    case Kind::bincount:
      if (results_ > 0 && !result_of_[0] && choose_rows(stack, first)) {
        return;
      }
      if (!inputs.modelled) {
        return compute_known(stack, first, inputs, compute);
      }
      break;
    case Kind::finite_check:
      if (!inputs.modelled && inputs.small()) {
        break;
      }
      for (size_t i = 0; i < 2; ++i) {  // the gradients, found_inf
        each_tensor((*stack)[first + i], [&](const at::Tensor& tensor) {
          set_content(tensor, sim::too_large_to_keep(weight_of(tensor)) ? Content::hollow : Content::stand_in);
        });
      }
      stack->resize(first);
      return;
    default:
      break;
  }
  const bool small = inputs.small();
  if (small && in_place_) {
    if (!inputs.hollow || fill_hollow(stack, first)) {
      return compute_known(stack, first, inputs, compute);
    }
  }
  if (!has_meta_) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        small, "shapes only: nothing says the shapes of what the operator ", name_, " gives but its values, and its inputs of ",
        inputs.bytes, " bytes are more than are computed (ASCEND_WORKBOOK_SIM_KEEP_BYTES)");
    fill_hollow(stack, first);
    return compute_known(stack, first, inputs, compute);
  }
  const torch::jit::Stack given(stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end());
  const auto restore = [&] {
    stack->resize(first);
    stack->insert(stack->end(), given.begin(), given.end());
  };
  try {
    infer(op, stack, first);
  } catch (const c10::Error&) {
    if (!small) {
      throw;
    }
    restore();
    fill_hollow(stack, first);
    return compute_known(stack, first, inputs, compute);  // which says what is wrong, or is right
  }
  size_t result_bytes = 0;
  for (size_t i = 0; i < results_; ++i) {
    each_tensor((*stack)[first + i], [&](const at::Tensor& tensor) { result_bytes += weight_of(tensor); });
  }
  if (small && !sim::too_large_to_keep(result_bytes) && !(judges_ && inputs.hollow)) {
    torch::jit::Stack metas(stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end());
    restore();
    if (!inputs.hollow || fill_hollow(stack, first)) {
      return compute_known(stack, first, inputs, compute);
    }
    stack->resize(first);
    stack->insert(stack->end(), metas.begin(), metas.end());
  }
  reserve(stack, first, given);
}

}  // namespace npu_sim
