#include "lazy_host.h"

#include <ATen/core/Tensor.h>
#include <sys/mman.h>
#include <torch/library.h>

#include <mutex>
#include <unordered_map>

#include "../shapes_only/contents.h"
#include "device_memory.h"
#include "reads.h"
#include "tensors.h"
#include "traits.h"

namespace npu_sim {
namespace {

std::mutex reserved_mutex;
struct Given {
  size_t nbytes;
  c10::DeleterFnPtr deleter;  // null where it was mapped
};
auto& reserved = *new std::unordered_map<void*, Given>;

void release_reserved(void* pointer) { release_on_host(pointer); }

// Integers that begin large are mostly data: tokens, positions. Up to this many bytes they are computed.
constexpr size_t kMostIntegers = size_t{64} << 20;

bool is_modelled(const c10::IValue& value) {
  return any_tensor(value, [](const at::Tensor& tensor) {
    return tensor.is_cpu() && tensor.has_storage() && tensor.layout() == at::kStrided &&
           sim::is_modelled(tensor.storage().data(), tensor.storage().nbytes());
  });
}

}  // namespace

namespace {

c10::DataPtr watch(void* begin, const Given& given) {
  {
    std::lock_guard<std::mutex> lock(reserved_mutex);
    reserved[begin] = given;
  }
  sim::watch_host(begin, given.nbytes);
  return {begin, begin, &release_reserved, c10::Device(c10::kCPU)};
}

}  // namespace

c10::DataPtr reserve_on_host(size_t nbytes) {
  void* begin = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TORCH_CHECK(begin != MAP_FAILED, "the host has no ", nbytes, " bytes");
  return watch(begin, {nbytes, nullptr});
}

c10::DataPtr watch_on_host(c10::Allocator& allocator, size_t nbytes) {
  void* begin = allocator.allocate(nbytes).release_context();
  return watch(begin, {nbytes, allocator.raw_deleter()});
}

bool release_on_host(void* pointer) {
  Given given{};
  {
    std::lock_guard<std::mutex> lock(reserved_mutex);
    const auto found = reserved.find(pointer);
    if (found == reserved.end()) {
      return false;
    }
    given = found->second;
    reserved.erase(found);
  }
  sim::forget_host(pointer, given.nbytes);
  if (given.deleter != nullptr) {
    given.deleter(pointer);
  } else {
    munmap(pointer, given.nbytes);
  }
  return true;
}

LazyHostKernel::LazyHostKernel(const c10::OperatorHandle& op)
    : ordinary_(kernel_of(op, c10::DispatchKey::CPU)),
      shapes_only_(op, c10::toString(op.operator_name())),
      begins_(has_trait("begins_on_host", op.operator_name().name)) {}

bool LazyHostKernel::begins_large(const torch::jit::Stack& stack, size_t first) const {
  if (!begins_) {
    return false;
  }
  const auto& tensor = stack[first].toTensor();
  const size_t bytes = tensor.numel() * tensor.element_size();
  return sim::too_large_to_keep(bytes) && (at::isFloatingType(tensor.scalar_type()) || bytes > kMostIntegers) &&
         tensor.layout() == at::kStrided && tensor.is_non_overlapping_and_dense();
}

void LazyHostKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  if (inside_kernel()) {
    return ordinary_.callBoxed(op, keys, stack);
  }
  if (begins_large(*stack, first)) {
    const auto tensor = (*stack)[first].toTensor();
    const auto* begin = static_cast<const char*>(tensor.storage().data()) + tensor.storage_offset() * tensor.element_size();
    if (sim::can_be_marked(begin)) {
      sim::set_content(begin, tensor.numel() * tensor.element_size(), sim::Content::hollow);
      stack->resize(first + 1);
      return;
    }
  }
  bool modelled = false;
  for (size_t i = first; i < stack->size() && !modelled; ++i) {
    modelled = is_modelled((*stack)[i]);
  }
  if (!modelled) {
    return ordinary_.callBoxed(op, keys, stack);
  }
  const MarkOnHost marked;  // what comes of modelled values is modelled, however small it is
  shapes_only_.run(op, stack, [&] { ordinary_.callBoxed(op, keys, stack); });
}

void register_lazy_host() {
  // Leaked, as all registrations are.
  static auto& library = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, "the NPU simulator", 6);
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (!has_trait("lazy_on_host", name.name) && !has_trait("begins_on_host", name.name)) {
      continue;
    }
    const auto op = dispatcher.findSchema(name);
    if (!op || name.name.rfind("aten::", 0) != 0) {
      continue;
    }
    const bool has_road = op->hasKernelForDispatchKey(c10::DispatchKey::CPU) ||
                          op->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
                          op->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional);
    if (!has_road) {
      continue;
    }
    const auto full = c10::toString(name);
    library.impl(full.substr(full.find("::") + 2).c_str(),
                 torch::CppFunction::makeFromBoxedFunctor(std::make_unique<LazyHostKernel>(*op)));
  }
}

}  // namespace npu_sim
