// Puts simulated kernels in the place of torch_npu's, for exactly the operators that torch_npu implements:
// what torch_npu lacks keeps its CPU fallback, warning and all.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <cstdio>
#include <memory>
#include <string>

#include "../shapes_only/contents.h"
#include "attention.h"
#include "by_hand.h"
#include "composite_kernel.h"
#include "cpu_kernel.h"
#include "device_limits.h"
#include "device_memory.h"
#include "dtype_limits.h"
#include "empty.h"
#include "fallbacks.h"
#include "faults.h"
#include "numerics.h"
#include "queue_order.h"
#include "reads.h"
#include "reference_kernel.h"
#include "torch_profiler.h"
#include "traits.h"

namespace npu_sim {
namespace {

using c10::DispatchKey;

constexpr const char* kHere = "the NPU simulator";  // shown by torch._C._dispatch_dump_table

// What torch_npu itself had for each operator before the simulator came, as "NAME KIND" lines.
auto& record = *new std::string;

void note(const std::string& name, const char* kind, const std::string& dtypes = "-") {
  record += name + " " + kind + " " + dtypes + "\n";
}

std::string known_dtypes(const c10::OperatorHandle& op) {
  const auto limits = dtype_limits(op);
  return limits ? limits->function : reference_checks_types(c10::toString(op.operator_name())) ? "torch_npu" : "unknown";
}

struct Libraries {
  // Leaked: taking some 1,500 registrations back at exit costs time and helps nobody.
  torch::Library& aten = *new torch::Library(torch::Library::IMPL, "aten", DispatchKey::PrivateUse1, kHere, 1);
  torch::Library& autograd =
      *new torch::Library(torch::Library::IMPL, "aten", DispatchKey::AutogradPrivateUse1, kHere, 2);
  torch::Library& npu = *new torch::Library(torch::Library::IMPL, "npu", DispatchKey::PrivateUse1, kHere, 3);
  torch::Library& atb = *new torch::Library(torch::Library::IMPL, "atb", DispatchKey::PrivateUse1, kHere, 4);
};

template <typename Kernel>
torch::CppFunction boxed(const c10::OperatorHandle& op) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(op));
}

bool has_cpu_road(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(DispatchKey::CPU) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional);
}

std::string local_name(const c10::OperatorHandle& op) {
  const auto full = c10::toString(op.operator_name());
  return full.substr(full.find("::") + 2);
}

// What the simulator does not simulate says so by its name; it never answers with zeros.
void refuse(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(op.operator_name().name.rfind("atb::", 0) != 0, "the NPU simulator lacks the operator ",
                              op.operator_name(), " of ATB, CANN's NNAL package; a real NPU with NNAL runs it");
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "the NPU simulator lacks the operator ", op.operator_name(),
      ": torch_npu has it, so it may well run on a real NPU, but no CPU kernel can stand in for it here");
}

void register_aten(Libraries& libraries, const c10::OperatorHandle& op) {
  const auto full = c10::toString(op.operator_name());
  const auto name = local_name(op);
  const bool on_npu = op.hasKernelForDispatchKey(DispatchKey::PrivateUse1);
  const bool autograd = op.hasKernelForDispatchKey(DispatchKey::AutogradPrivateUse1);
  if (!on_npu && !autograd) {
    if (is_fused_attention(op)) {
      note(full, "simulated", "torch_npu");
      libraries.aten.impl(name.c_str(), boxed<FusedAttention>(op));
    } else if (falls_back(op)) {
      note(full, "fallback");  // torch_npu's own, counted
      libraries.aten.impl(name.c_str(), boxed<FallbackKernel>(op));
    }
    return;
  }
  if (has_trait("torch_npus_own", full)) {
    if (sim::shapes_only() && (name.rfind("empty", 0) == 0 || name.rfind("new_empty", 0) == 0)) {
      libraries.aten.impl(name.c_str(), boxed<EmptyKernel>(op));
    }
    return note(full, "torch_npu");
  }
  const bool composite = op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd);
  if (composite && has_reference(full)) {
    libraries.aten.impl(name.c_str(), boxed<ReferenceKernel>(op));
    libraries.autograd.impl(name.c_str(), torch::CppFunction::makeFallthrough());
    return note(full, "simulated", known_dtypes(op));
  }
  if (composite) {
    libraries.aten.impl(name.c_str(), boxed<StockAutogradKernel>(op));
    libraries.autograd.impl(name.c_str(), boxed<StockAutogradKernel>(op));
    return note(full, "composite");
  }
  if (name == "binary_cross_entropy_with_logits") {
    libraries.autograd.impl(name.c_str(), boxed<LossWithLogits>(op));
  } else if (autograd && name != "_thnn_fused_gru_cell" && name != "renorm") {  // both are brought by hand
    libraries.autograd.impl(name.c_str(), boxed<StockAutogradKernel>(op));
  }
  if (has_trait("by_hand", full) || (has_trait("by_hand_where_lacking", full) && !has_cpu_road(op))) {
    return note(full, "simulated", known_dtypes(op));
  }
  if (!on_npu) {
    return note(full, "composite");  // torch_npu had an autograd kernel only
  }
  const bool by_reference = !has_cpu_road(op) && has_reference(full);
  const bool here = has_cpu_road(op) || by_reference;
  note(full, here ? "simulated" : "refused", here ? known_dtypes(op) : "-");
  libraries.aten.impl(name.c_str(), by_reference       ? boxed<ReferenceKernel>(op)
                                    : has_cpu_road(op) ? boxed<CpuKernel>(op)
                                                       : torch::CppFunction::makeFromBoxedFunction<&refuse>());
}

// Operators of torch_npu's own, in its namespaces npu and atb (those of CANN's NNAL package).
void register_own(torch::Library& library, const c10::OperatorHandle& op) {
  if (!op.hasKernelForDispatchKey(DispatchKey::PrivateUse1)) {
    return;
  }
  const auto full = c10::toString(op.operator_name());
  const bool by_reference = has_reference(full);
  const bool here = by_reference || has_trait("by_hand", full) || has_trait("bookkeeping", full);
  note(full, here ? "simulated" : "refused", here ? known_dtypes(op) : "-");
  if (by_reference) {
    library.impl(local_name(op).c_str(), boxed<ReferenceKernel>(op));
  } else if (!here) {
    library.impl(local_name(op).c_str(), torch::CppFunction::makeFromBoxedFunction<&refuse>());
  }
}

void install() {
  read_dtype_limits();
  read_device_checks();
  read_faults();
  read_numerics();
  install_cpu_allocator();
  Libraries libraries;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (!op) {
      continue;  // torch_npu names 419 kernels in aten that have no schema there: nobody can call them
    }
    if (name.name.rfind("aten::", 0) == 0) {
      register_aten(libraries, *op);
    } else if (name.name.rfind("npu::", 0) == 0) {
      register_own(libraries.npu, *op);
    } else if (name.name.rfind("atb::", 0) == 0) {
      register_own(libraries.atb, *op);
    }
  }
  register_copies(libraries.aten);
  register_random(libraries.aten);
  register_recurrent(libraries.aten, libraries.autograd);
  register_sparse(libraries.aten);
  choose_fused_attention();
  register_gradients(libraries.autograd);
  register_npu_operators(libraries.npu);
  announce_faults();
  name_device_in_traces();
  let_torch_npu_poll_slowly();
  if (sim::shapes_only()) {
    start_shapes_only();
  }
}

}  // namespace
}  // namespace npu_sim

// One line for each operator that torch_npu itself implements, and for the two that stand for its fused attention: its name, then "simulated" (on the CPU's kernel),
// "composite" (made of others), "torch_npu" (host-side kernel of torch_npu, kept) or "refused" (raises), then what is
// known of the data types that the hardware takes: CANN's function (dtypes.txt holds its list), "torch_npu" (a reference
// checks them by its documentation), "unknown", or "-" where nothing is computed here. What is not listed falls back to the CPU as torch_npu decides.
extern "C" __attribute__((visibility("default"))) const char* npu_sim_operators() {
  return npu_sim::record.c_str();
}

// The operators that ran in this process although it is not known which data types the hardware takes; a line each.
extern "C" __attribute__((visibility("default"))) const char* npu_sim_unknown_dtypes() {
  return npu_sim::unknown_in_use();
}

// The operators whose known data types are those of another release of torch, so that nothing is known of them here.
extern "C" __attribute__((visibility("default"))) const char* npu_sim_lines_set_aside() {
  return npu_sim::lines_set_aside();
}

// Called once, by aclInit. 0: all is registered; anything else: it is not, and stderr says why.
extern "C" __attribute__((visibility("default"))) int npu_sim_install() {
  try {
    npu_sim::install();
    return 0;
  } catch (const c10::Error& error) {
    std::fprintf(stderr, "NPU simulator: cannot start: %s\n", error.what_without_backtrace());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "NPU simulator: cannot start: %s\n", error.what());
  }
  return 1;
}
