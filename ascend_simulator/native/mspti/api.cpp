// libmspti.so: what torch_npu looks up for torch.profiler (torch_npu/csrc/framework/interface/MsptiInterface.cpp), and what
// programs of MSPTI's own call. It works without LD_PRELOAD too, which a real MSPTI asks for.
#include <cstdio>

#include "activities.h"

#define SIM_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

std::atomic<bool> subscribed{false};
constexpr auto kSubscriber = 1;

msptiResult switch_kind(msptiActivityKind kind, bool on) {
  if (!sim_mspti::has_records(kind)) return MSPTI_ERROR_INVALID_PARAMETER;
  const uint32_t bit = uint32_t{1} << kind;
  if (on) {
    sim_mspti::kinds |= bit;
  } else {
    sim_mspti::kinds &= ~bit;
  }
  sim_mspti::watch_if_asked();
  return MSPTI_SUCCESS;
}

bool is_external(msptiExternalCorrelationKind kind) {
  return kind > MSPTI_EXTERNAL_CORRELATION_KIND_INVALID && kind < MSPTI_EXTERNAL_CORRELATION_KIND_SIZE;
}

msptiResult lacking(const char* function) {
  std::fprintf(stderr, "[simulated NPU] libmspti.so lacks %s: callbacks at calls of the runtime\n", function);
  return MSPTI_ERROR_INNER;
}

}  // namespace

SIM_EXPORT msptiResult msptiSubscribe(msptiSubscriberHandle* subscriber, msptiCallbackFunc, void*) {
  if (subscriber == nullptr) return MSPTI_ERROR_INVALID_PARAMETER;
  if (subscribed.exchange(true)) return MSPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  *subscriber = reinterpret_cast<msptiSubscriberHandle>(kSubscriber);
  return MSPTI_SUCCESS;
}

SIM_EXPORT msptiResult msptiUnsubscribe(msptiSubscriberHandle subscriber) {
  const bool ours = subscriber == reinterpret_cast<msptiSubscriberHandle>(kSubscriber);
  return ours && subscribed.exchange(false) ? MSPTI_SUCCESS : MSPTI_ERROR_INVALID_PARAMETER;
}

SIM_EXPORT msptiResult msptiEnableCallback(uint32_t, msptiSubscriberHandle, uint32_t, uint32_t) { return lacking(__func__); }
SIM_EXPORT msptiResult msptiEnableDomain(uint32_t, msptiSubscriberHandle, uint32_t) { return lacking(__func__); }

SIM_EXPORT msptiResult msptiActivityRegisterCallbacks(msptiBuffersCallbackRequestFunc request,
                                                      msptiBuffersCallbackCompleteFunc complete) {
  if (request == nullptr || complete == nullptr) return MSPTI_ERROR_INVALID_PARAMETER;
  sim_mspti::set_buffers(request, complete);
  return MSPTI_SUCCESS;
}

SIM_EXPORT msptiResult msptiActivityEnable(msptiActivityKind kind) { return switch_kind(kind, true); }
SIM_EXPORT msptiResult msptiActivityDisable(msptiActivityKind kind) { return switch_kind(kind, false); }

SIM_EXPORT bool msptiActivityIsEnabled(msptiActivityKind kind) {
  return kind < MSPTI_ACTIVITY_KIND_COUNT && (sim_mspti::kinds >> kind & 1) != 0;
}

SIM_EXPORT msptiResult msptiActivityFlushAll(uint32_t) {
  sim_mspti::deliver();
  return MSPTI_SUCCESS;
}

SIM_EXPORT msptiResult msptiActivityFlushPeriod(uint32_t milliseconds) {
  sim_mspti::deliver_every(milliseconds);
  return MSPTI_SUCCESS;
}

SIM_EXPORT msptiResult msptiActivityGetNextRecord(uint8_t* buffer, size_t valid, msptiActivity** record) {
  if (buffer == nullptr || record == nullptr) return MSPTI_ERROR_INVALID_PARAMETER;
  uint8_t* next = *record == nullptr ? buffer : reinterpret_cast<uint8_t*>(*record) + sim_mspti::size_of((*record)->kind);
  if (next < buffer || next >= buffer + valid) return MSPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<msptiActivity*>(next);
  return MSPTI_SUCCESS;
}

SIM_EXPORT msptiResult msptiActivityPushExternalCorrelationId(msptiExternalCorrelationKind kind, uint64_t id) {
  if (!is_external(kind)) return MSPTI_ERROR_INVALID_PARAMETER;
  sim_mspti::push_external(kind, id);
  return MSPTI_SUCCESS;
}

SIM_EXPORT msptiResult msptiActivityPopExternalCorrelationId(msptiExternalCorrelationKind kind, uint64_t* last) {
  if (!is_external(kind)) return MSPTI_ERROR_INVALID_PARAMETER;
  return sim_mspti::pop_external(kind, last) ? MSPTI_SUCCESS : MSPTI_ERROR_QUEUE_EMPTY;
}
