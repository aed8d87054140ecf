#include "reference_kernel.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <fstream>
#include <unordered_map>

#include "by_hand.h"
#include "device_memory.h"
#include "python.h"
#include "traits.h"

namespace npu_sim {
namespace {

constexpr const char* kNamespace = "_npu_sim_references::";

std::string folder() { return beside_libraries("references"); }

c10::OperatorHandle reference_of(const c10::OperatorHandle& op) {
  const auto& name = op.operator_name();
  const c10::OperatorName own(kNamespace + name.name.substr(name.name.find("::") + 2), name.overload_name);
  auto& dispatcher = c10::Dispatcher::singleton();
  if (const auto found = dispatcher.findSchema(own)) {
    return *found;
  }
  call_beside_libraries("references", "registration", "register");
  return dispatcher.findSchemaOrThrow(own.name.c_str(), own.overload_name.c_str());
}

// As outside of any kernel: a reference may use autograd for a gradient. It records nothing unless it asks.
c10::impl::LocalDispatchKeySet keys_with_autograd() {
  auto keys = c10::impl::tls_local_dispatch_key_set();
  keys.excluded_ = keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
  return keys;
}

// By name whether it checks its data types.
const std::unordered_map<std::string, bool>& references() {
  static const auto found = [] {
    std::unordered_map<std::string, bool> lines;
    std::ifstream file(folder() + "/operators.txt");
    for (std::string line; std::getline(file, line);) {
      const auto space = line.find(' ');
      lines.emplace(line.substr(0, space), space != std::string::npos);
    }
    return lines;
  }();
  return found;
}

}  // namespace

bool has_reference(const std::string& name) { return references().count(name) > 0; }

bool reference_checks_types(const std::string& name) {
  const auto found = references().find(name);
  return found != references().end() && found->second;
}

ReferenceKernel::ReferenceKernel(const c10::OperatorHandle& op) : CpuKernel(op) {
  if (reference_checks_types(c10::toString(op.operator_name()))) {
    types_are_known();
  }
}

void ReferenceKernel::compute(const c10::OperatorHandle& op, torch::jit::Stack* stack, c10::Device device) const {
  const auto reference = reference_of(op);
  if (reference.schema().arguments().size() > op.schema().arguments().size()) {
    stack->push_back(generator_for_call(nullopt, device));
  }
  AllocateOnNpu host_memory(false);  // what a formula needs between its steps is no workspace of the fused operator
  c10::AutoGradMode no_grad(false);
  c10::impl::ForceDispatchKeyGuard keys(keys_with_autograd());
  reference.callBoxed(stack);
}

}  // namespace npu_sim
