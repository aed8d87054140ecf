// Copies and fills. Each is done when the call returns (and again in a graph); the asynchronous ones may therefore never be seen unfinished.
#include "runtime.h"

#include <cstring>

#include "../recording/graphs.h"
#include "../shapes_only/contents.h"

namespace {

struct Ends {
  bool from_device, to_device, known;
};

Ends ends_of(aclrtMemcpyKind kind) {
  switch (kind) {
    case ACL_MEMCPY_HOST_TO_HOST: return {false, false, true};
    case ACL_MEMCPY_HOST_TO_DEVICE:
    case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE: return {false, true, true};
    case ACL_MEMCPY_DEVICE_TO_HOST: return {true, false, true};
    case ACL_MEMCPY_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INNER_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INTER_DEVICE_TO_DEVICE: return {true, true, true};
    default: return {false, false, false};
  }
}

// `size` bytes at `pointer` lie inside one block, and the block is a device's where the kind says so.
aclError check_end(const char* function, const char* name, const void* pointer, size_t size, bool known, bool on_device) {
  if (pointer == nullptr) return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "%s is null", name);
  sim::Block block{};
  const bool found = sim::find_block(pointer, &block);
  const bool is_device = found && block.where == sim::Where::device;
  if (known && is_device != on_device) {
    return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "%s %p is %s memory, the kind of copy says %s memory", name,
                     pointer, is_device ? "device" : "host", on_device ? "device" : "host");
  }
  const size_t left = found ? sim::room_from(pointer) : size;
  if (size > left) {
    return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "%s: %zu bytes reach past its block, %zu are left", name, size, left);
  }
  return ACL_SUCCESS;
}

aclError copy(const char* function, void* to, size_t room, const void* from, size_t size, aclrtMemcpyKind kind) {
  if (size == 0) return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "count is 0");
  if (size > room) return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "count %zu is more than destMax %zu", size, room);
  const Ends ends = ends_of(kind);
  if (!ends.known && kind != ACL_MEMCPY_DEFAULT) {
    return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "kind %d is no kind of copy", static_cast<int>(kind));
  }
  if (aclError code = check_end(function, "src", from, size, ends.known, ends.from_device)) return code;
  if (aclError code = check_end(function, "dst", to, size, ends.known, ends.to_device)) return code;
  if (!sim::shapes_only()) {
    std::memmove(to, from, size);
    return ACL_SUCCESS;
  }
  const bool skipped = size > sim::keep_bytes() || sim::content_of(from, size) == sim::Content::hollow;
  if (!skipped) std::memmove(to, from, size);
  skipped ? sim::set_content(to, size, sim::Content::hollow) : sim::copy_content(to, from, size);
  return ACL_SUCCESS;
}

aclError fill(const char* function, void* to, size_t room, int32_t value, size_t size) {
  if (size > room) return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "count %zu is more than maxCount %zu", size, room);
  if (aclError code = check_end(function, "devPtr", to, size, false, false)) return code;
  const bool skipped = sim::too_large_to_keep(size);
  if (!skipped) std::memset(to, value, size);
  if (sim::shapes_only()) sim::set_content(to, size, skipped ? sim::Content::hollow : sim::Content::known);
  return ACL_SUCCESS;
}

// Work on a stream: done at once, and again whenever the graph runs that the stream is captured for.
template <class Work>
aclError issue(const char* name, aclrtStream stream, void* to, size_t size, const Work& work) {
  sim::Graph* const graph = sim::find_graph(stream);
  if (graph == nullptr) return work();
  sim::Block block{};
  if (to != nullptr && (!sim::find_block(to, &block) || size <= sim::room_from(to))) sim::keep_before_write(graph, to, size);
  const aclError code = work();
  if (code == ACL_SUCCESS) sim::add_to_graph(graph, stream, name, work);
  return code;
}

}  // namespace

aclError aclrtMemcpy(void* to, size_t room, const void* from, size_t size, aclrtMemcpyKind kind) {
  if (const int code = sim::refuse_blocking(__func__)) return code;
  return copy(__func__, to, room, from, size, kind);
}

aclError aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t size, aclrtMemcpyKind kind, aclrtStream stream) {
  SIM_CHECK_STREAM(stream);
  return issue("MEMCPY_ASYNC", stream, to, size, [=, function = __func__] {
    return copy(function, to, room, from, size, kind);
  });
}

// "With condition": CANN decides by the kind of memory whether the call waits. Here it always has.
aclError aclrtMemcpyAsyncWithCondition(void* to, size_t room, const void* from, size_t size, aclrtMemcpyKind kind,
                                       aclrtStream stream) {
  SIM_CHECK_STREAM(stream);
  return issue("MEMCPY_ASYNC", stream, to, size, [=, function = __func__] {
    return copy(function, to, room, from, size, kind);
  });
}

aclError aclrtMemset(void* to, size_t room, int32_t value, size_t size) {
  if (const int code = sim::refuse_blocking(__func__)) return code;
  return fill(__func__, to, room, value, size);
}

aclError aclrtMemsetAsync(void* to, size_t room, int32_t value, size_t size, aclrtStream stream) {
  SIM_CHECK_STREAM(stream);
  return issue("MEMSET_ASYNC", stream, to, size, [=, function = __func__] {
    return fill(function, to, room, value, size);
  });
}
