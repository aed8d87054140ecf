#include "refusal.h"

namespace npu_sim {

void refuse(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(op.operator_name().name.rfind("atb::", 0) != 0, "the NPU simulator lacks the operator ",
                              op.operator_name(), " of ATB, CANN's NNAL package; a real NPU with NNAL runs it");
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "the NPU simulator lacks the operator ", op.operator_name(),
      ": torch_npu has it, so it may well run on a real NPU, but no CPU kernel can stand in for it here");
}

}  // namespace npu_sim
