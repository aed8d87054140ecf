// Messages between two ranks. Sends are copied and go out in the background, so that they never wait here; where the
// same program would hang on hardware, whose HcclSend waits for its receiver, receiving is an error instead.
#pragma GCC visibility push(default)
#include <hccl/hccl.h>

// Not in the headers of torch_npu's wheel; declared as torch_npu calls it
// (torch_npu/csrc/distributed/HcclCompile.h, hcclBatchIsendIrecv, hcclGroupStart).
extern "C" HcclResult HcclBatchSendRecv(HcclSendRecvItem* items, uint32_t count, HcclComm comm, aclrtStream stream);
extern "C" HcclResult HcclGroupStart();
extern "C" HcclResult HcclGroupEnd();
#pragma GCC visibility pop

#include <cstring>
#include <vector>

#include "../recording/recording.h"
#include "../shapes_only/contents.h"
#include "calls.h"
#include "imagined.h"
#include "reduce.h"
#include "runtime.h"

using namespace sim_hccl;

namespace {

void check_peer(const Communicator& group, uint32_t other, const void* buffer, uint64_t count) {
  require(other < group.size() && other != group.rank(), "rank " + std::to_string(other) + " is no other rank of the group");
  require(count == 0 || buffer != nullptr, "the buffer is null");
}

void send(Communicator& group, uint32_t to, const void* buffer, uint64_t count, HcclDataType type, bool batched) {
  check_peer(group, to, buffer, count);
  Peer& peer = group.peer(to);
  const auto modelled = static_cast<int16_t>(prepare_input(buffer, count, type));
  const Letter letter{count, type, batched, modelled, peer.received};
  const size_t bytes = count * size_of(type), carried = is_imagined(bytes) ? 0 : bytes;
  std::string message(sizeof letter + carried, '\0');
  std::memcpy(message.data(), &letter, sizeof letter);
  if (carried > 0) std::memcpy(message.data() + sizeof letter, buffer, carried);
  if (peer.outbox) peer.outbox->check();
  const uint64_t start_ns = sim::recording() ? sim::record_clock_ns() : 0;
  if (peer.outbox) peer.outbox->post(std::move(message));
  if (start_ns > 0) {
    group.counted = call_of("HcclSend", count, type);
    peer.posted.sent += bytes;
    peer.posted.sent_ns += sim::record_clock_ns() - start_ns;
  }
  ++peer.sent;
  if (!batched) peer.alone_sent = peer.sent;
}

void receive(Communicator& group, uint32_t from, void* buffer, uint64_t count, HcclDataType type, bool batched) {
  check_peer(group, from, buffer, count);
  Peer& peer = group.peer(from);
  const size_t bytes = count * size_of(type);
  if (sim::alone()) {
    if (sim::recording()) group.counted = call_of("HcclRecv", count, type);
    peer.direct->pretend(0, bytes);
    return imagine_message(buffer, count, type);
  }
  Letter letter{};
  peer.direct->receive(&letter, sizeof letter);
  if (letter.count != count || letter.type != type) {
    throw Failure(HCCL_E_PARA, "rank " + std::to_string(from) + " sent " + std::to_string(letter.count) + " of " +
                                   name_of(static_cast<HcclDataType>(letter.type)) + ", rank " +
                                   std::to_string(group.rank()) + " receives " + std::to_string(count) + " of " +
                                   name_of(type));
  }
  if (!batched && letter.batched == 0 && letter.received < peer.alone_sent) {
    throw Failure(HCCL_E_TIMEOUT, "ranks " + std::to_string(group.rank()) + " and " + std::to_string(from) +
                                      " both send before they receive, which hangs on hardware; use batch_isend_irecv");
  }
  if (sim::recording()) group.counted = call_of("HcclRecv", count, type);
  if (is_imagined(bytes)) {
    peer.direct->pretend(0, bytes);
    mark_hollow(buffer, bytes);
  } else {
    peer.direct->receive(buffer, bytes);
    mark_result(buffer, bytes, letter.modelled != 0);
  }
  ++peer.received;
}

HcclResult run_batch(const char* function, HcclComm comm, aclrtStream stream, const HcclSendRecvItem* items, size_t count) {
  return on(comm, function, stream, [&](Communicator& group) {
    require(items != nullptr && count > 0, "the list is empty");
    for (size_t at = 0; at < count; ++at) {
      const HcclSendRecvItem& item = items[at];
      if (item.sendRecvType == HCCL_SEND) send(group, item.remoteRank, item.buf, item.count, item.dataType, true);
    }
    for (size_t at = 0; at < count; ++at) {
      const HcclSendRecvItem& item = items[at];
      if (item.sendRecvType == HCCL_RECV) receive(group, item.remoteRank, item.buf, item.count, item.dataType, true);
    }
  });
}

// Between HcclGroupStart and HcclGroupEnd a thread's sends and receives are only noted; they go on together at the end.
struct Noted {
  HcclComm comm;
  aclrtStream stream;
  HcclSendRecvItem item;
};
thread_local int group_depth = 0;
thread_local std::vector<Noted> noted;

bool note(HcclComm comm, aclrtStream stream, const HcclSendRecvItem& item) {
  if (group_depth == 0 || !alive(comm)) return false;
  noted.push_back({comm, stream, item});
  return true;
}

}  // namespace

HcclResult HcclSend(void* buffer, uint64_t count, HcclDataType type, uint32_t to, HcclComm comm, aclrtStream stream) {
  if (note(comm, stream, {HCCL_SEND, buffer, count, type, to})) return HCCL_SUCCESS;
  return on_graph(comm, __func__, stream, [=](Communicator& group) { send(group, to, buffer, count, type, false); });
}

HcclResult HcclRecv(void* buffer, uint64_t count, HcclDataType type, uint32_t from, HcclComm comm, aclrtStream stream) {
  if (note(comm, stream, {HCCL_RECV, buffer, count, type, from})) return HCCL_SUCCESS;
  return on_graph(comm, __func__, stream, [=](Communicator& group) { receive(group, from, buffer, count, type, false); });
}

HcclResult HcclBatchSendRecv(HcclSendRecvItem* items, uint32_t count, HcclComm comm, aclrtStream stream) {
  return run_batch(__func__, comm, stream, items, count);
}

HcclResult HcclGroupStart() {
  ++group_depth;
  return HCCL_SUCCESS;
}

HcclResult HcclGroupEnd() {
  if (group_depth == 0) {
    sim::fail(HCCL_E_PARA, __func__, "called without HcclGroupStart");
    return HCCL_E_PARA;
  }
  if (--group_depth > 0) return HCCL_SUCCESS;
  const std::vector<Noted> all = std::move(noted);
  noted.clear();
  std::vector<HcclSendRecvItem> items;
  for (size_t at = 0; at < all.size(); ++at) {
    items.push_back(all[at].item);
    if (at + 1 < all.size() && all[at + 1].comm == all[at].comm) continue;
    if (HcclResult code = run_batch(__func__, all[at].comm, all[at].stream, items.data(), items.size())) return code;
    items.clear();
  }
  return HCCL_SUCCESS;
}
