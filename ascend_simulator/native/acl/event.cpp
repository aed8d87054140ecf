// Events: the host's clock at the moment of recording, by which time all work issued before is done.
#include "../recording/graphs.h"
#include "../recording/recording.h"
#include "runtime.h"

#include <mutex>
#include <unordered_map>

namespace {

struct Event {
  uint32_t flags;
  bool recorded;
  double recorded_ms;
  uint64_t mark;  // what a profile calls the moment, 0 where none was recorded
};

std::mutex mutex;
uint64_t last_mark = 0;

auto& events = *new std::unordered_map<aclrtEvent, Event>;  // outlives static destructors of torch_npu

aclError create(const char* function, aclrtEvent* event, uint32_t flags) {
  if (event == nullptr) return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "event is null");
  std::lock_guard<std::mutex> lock(mutex);
  *event = new char;  // only an address that no other event has
  events[*event] = {flags, false, 0, 0};
  return ACL_SUCCESS;
}

Event* find(aclrtEvent event) {
  const auto found = events.find(event);
  return found == events.end() ? nullptr : &found->second;
}

}  // namespace

#define SIM_FIND_EVENT(name, event)                  \
  std::lock_guard<std::mutex> lock_##name(mutex);    \
  Event* name = find(event);                         \
  SIM_REQUIRE(name != nullptr, ACL_ERROR_RT_PARAM_INVALID, "%p is no event", event)

aclError aclrtCreateEvent(aclrtEvent* event) { return create(__func__, event, ACL_EVENT_TIME_LINE); }
aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flags) { return create(__func__, event, flags); }
aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flags) { return create(__func__, event, flags); }

aclError aclrtDestroyEvent(aclrtEvent event) {
  SIM_FIND_EVENT(found, event);
  sim::forget_event(event);
  delete static_cast<char*>(event);
  events.erase(event);
  return ACL_SUCCESS;
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  SIM_CHECK_STREAM(stream);
  SIM_FIND_EVENT(found, event);
  if (sim::capturing()) sim::record_in_graph(event, stream);
  found->recorded = true;
  found->recorded_ms = sim::now_ms();
  found->mark = sim::recording() ? ++last_mark : 0;
  if (found->mark != 0) sim::record_order(sim::Task::mark, sim::stream_number(stream), found->mark);
  return ACL_SUCCESS;
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  SIM_CHECK_STREAM(stream);
  SIM_FIND_EVENT(found, event);
  found->recorded = false;
  return ACL_SUCCESS;
}

// An event that was never recorded counts as complete, as with AscendCL's aclrtCreateEventExWithFlag.
aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  SIM_FIND_EVENT(found, event);
  if (const int code = sim::refuse_event(__func__, event)) return code;
  return sim::tell(__func__, "status", status, ACL_EVENT_RECORDED_STATUS_COMPLETE);
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  SIM_FIND_EVENT(found, event);
  return sim::tell(__func__, "status", status, ACL_EVENT_WAIT_STATUS_COMPLETE);
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  SIM_FIND_EVENT(found, event);
  if (const int code = sim::refuse_event(__func__, event)) return code;
  if (sim::recording() && found->mark != 0) sim::record_order(sim::Task::host_wait, sim::every_stream, found->mark);
  return sim::check_tasks();  // all work before the record was done when it was recorded
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  SIM_CHECK_STREAM(stream);
  SIM_FIND_EVENT(found, event);
  if (const int code = sim::wait_in_graph(__func__, stream, event, found->recorded)) return code;
  if (sim::recording() && found->mark != 0) sim::record_order(sim::Task::wait, sim::stream_number(stream), found->mark);
  return sim::nothing_to_do("all work before the record was done when it was recorded");
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent start, aclrtEvent end) {
  SIM_REQUIRE(ms != nullptr, ACL_ERROR_RT_PARAM_INVALID, "ms is null");
  std::lock_guard<std::mutex> lock(mutex);
  const Event *first = find(start), *last = find(end);
  SIM_REQUIRE(first != nullptr && last != nullptr, ACL_ERROR_RT_PARAM_INVALID, "%p or %p is no event", start, end);
  SIM_REQUIRE(first->recorded && last->recorded, ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "an event was not recorded");
  SIM_REQUIRE(first->flags & last->flags & ACL_EVENT_TIME_LINE, ACL_ERROR_RT_PARAM_INVALID, "an event keeps no time");
  *ms = static_cast<float>(last->recorded_ms - first->recorded_ms);
  return ACL_SUCCESS;
}
