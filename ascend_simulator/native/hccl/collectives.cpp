// Collectives. Each begins with agree(), in which all ranks show that they are in the same call; data then goes
// straight between the ranks concerned. Of an all_reduce each rank reduces a share, in the order of ranks.
#pragma GCC visibility push(default)
#include <hccl/hccl.h>
#pragma GCC visibility pop

#include <algorithm>
#include <cstring>
#include <vector>

#include "../shapes_only/contents.h"
#include "calls.h"
#include "imagined.h"
#include "parts.h"
#include "reduce.h"

using namespace sim_hccl;

namespace {

constexpr size_t kChunkElements = 1 << 18;

void check_buffers(const void* first, const void* second, uint64_t count) {
  require(count == 0 || (first != nullptr && second != nullptr), "a buffer is null");
}

// The reduction of everyone's `input` on rank `root`, chunk by chunk; the others send theirs and are done.
void reduce_to(Communicator& group, uint32_t root, const char* input, char* output, uint64_t count, HcclDataType type,
               HcclReduceOp op) {
  const size_t width = size_of(type), bytes = count * width;
  if (is_imagined(bytes)) {
    imagine_root(group, root, bytes, false);
    if (group.rank() == root) imagine_reduction(group, input, output, count, type, op);
    return;
  }
  if (group.rank() != root) return group.wire(root).send(input, bytes);
  const Reduction reduction(type, op);
  const size_t most = std::min<size_t>(count, kChunkElements);
  std::vector<char> sums(reduction.accumulator_size(most)), theirs(most * width);
  for (uint64_t done = 0; done < count; done += kChunkElements) {
    const size_t some = std::min<size_t>(count - done, kChunkElements);
    for (uint32_t rank = 0; rank < group.size(); ++rank) {
      const char* values = input + done * width;
      if (rank != root) {
        group.wire(rank).receive(theirs.data(), some * width);
        values = theirs.data();
      }
      rank == 0 ? reduction.start(sums.data(), values, some) : reduction.add(sums.data(), values, some);
    }
    reduction.finish(output + done * width, sums.data(), some);
  }
  mark_result(output, bytes, group.any_modelled());
}

void send_from(Communicator& group, uint32_t root, char* buffer, size_t bytes) {
  if (is_imagined(bytes)) {
    imagine_root(group, root, bytes, true);
    if (too_large_to_send(bytes)) mark_result(buffer, bytes, true);
    return;
  }
  if (group.rank() != root) {
    group.wire(root).receive(buffer, bytes);
    return mark_result(buffer, bytes, group.modelled(root));
  }
  for (uint32_t rank = 0; rank < group.size(); ++rank) {
    if (rank != root) group.wire(rank).send(buffer, bytes);
  }
}

// What this rank gives itself.
void keep_own(Communicator& group, const char* input, const Parts& out, char* output, const Parts& in) {
  const uint32_t me = group.rank();
  const size_t bytes = std::min(out.sizes[me], in.sizes[me]);
  if (too_large_to_send(bytes * group.size())) return mark_hollow(output + in.places[me], bytes);
  std::memmove(output + in.places[me], input + out.places[me], bytes);
  mark_result(output + in.places[me], bytes, group.modelled(me));
}

void all_to_all(Communicator& group, const char* input, const Parts& out, char* output, const Parts& in) {
  const uint32_t me = group.rank(), size = group.size();
  if (sim::alone()) return imagine_exchange(group, input, out, output, in);
  keep_own(group, input, out, output, in);
  for (uint32_t step = 1; step < size; ++step) {
    const uint32_t to = (me + step) % size, from = (me + size - step) % size;
    uint64_t mine = out.sizes[to], theirs = 0;
    Wire::exchange(group.wire(to), &mine, sizeof mine, group.wire(from), &theirs, sizeof theirs, false);
    if (theirs != in.sizes[from]) {
      throw Failure(HCCL_E_PARA, "rank " + std::to_string(from) + " sends " + std::to_string(theirs) +
                                               " bytes, rank " + std::to_string(me) + " expects " +
                                               std::to_string(in.sizes[from]));
    }
    const size_t sent = too_large_to_send(mine * size) ? 0 : mine, got = too_large_to_send(theirs * size) ? 0 : theirs;
    Wire::exchange(group.wire(to), input + out.places[to], sent, group.wire(from), output + in.places[from], got);
    if (sent < mine) group.wire(to).pretend(mine, 0);
    if (got < theirs) group.wire(from).pretend(0, theirs);
    got < theirs ? mark_hollow(output + in.places[from], theirs)
                 : mark_result(output + in.places[from], theirs, group.modelled(from));
  }
}

Parts equal_parts(uint32_t ranks, size_t bytes) {
  Parts parts;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    parts.sizes.push_back(bytes);
    parts.places.push_back(rank * bytes);
  }
  return parts;
}

Parts same_parts(uint32_t ranks, size_t bytes) { return {std::vector<size_t>(ranks, bytes), std::vector<size_t>(ranks, 0)}; }

Parts listed_parts(uint32_t ranks, const void* counts, const void* places, size_t width) {
  require(counts != nullptr && places != nullptr, "counts or displacements are null");
  Parts parts;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    parts.sizes.push_back(static_cast<const uint64_t*>(counts)[rank] * width);
    parts.places.push_back(static_cast<const uint64_t*>(places)[rank] * width);
  }
  return parts;
}

// Everyone's part for this rank comes to this rank, which reduces them in the order of ranks.
void reduce_scatter(Communicator& group, const char* input, const Parts& out, char* output, uint64_t count,
                    HcclDataType type, HcclReduceOp op) {
  const size_t bytes = count * size_of(type);
  if (is_imagined(bytes * group.size())) {
    count_exchange(group, out, equal_parts(group.size(), bytes));
    return imagine_reduction(group, input + out.places[group.rank()], output, count, type, op);
  }
  std::vector<char> parts(bytes * group.size());
  all_to_all(group, input, out, parts.data(), equal_parts(group.size(), bytes));
  const Reduction reduction(type, op);
  std::vector<char> sums(reduction.accumulator_size(count));
  reduction.start(sums.data(), parts.data(), count);
  for (uint32_t rank = 1; rank < group.size(); ++rank) reduction.add(sums.data(), parts.data() + rank * bytes, count);
  reduction.finish(output, sums.data(), count);
  mark_result(output, bytes, group.any_modelled());
}

// `count` elements cut into one share per rank; the first shares have the odd elements.
Parts shares_of(uint64_t count, uint32_t ranks, size_t width) {
  Parts parts;
  for (uint64_t rank = 0, place = 0; rank < ranks; ++rank) {
    parts.sizes.push_back((count / ranks + (rank < count % ranks ? 1 : 0)) * width);
    parts.places.push_back(place);
    place += parts.sizes.back();
  }
  return parts;
}

// Piece by piece, so that what is received still lies in the cache when it is added.
void all_reduce(Communicator& group, const char* input, char* output, uint64_t count, HcclDataType type, HcclReduceOp op) {
  const size_t width = size_of(type);
  const uint64_t piece = kChunkElements * group.size();
  const bool imagined = is_imagined(count * width);
  if (imagined) imagine_reduction(group, input, output, count, type, op);
  for (uint64_t done = 0; done < count; done += piece) {
    const Parts shares = shares_of(std::min(count - done, piece), group.size(), width);
    if (imagined) {
      count_exchange(group, shares, same_parts(group.size(), shares.sizes[group.rank()]));
      count_exchange(group, same_parts(group.size(), shares.sizes[group.rank()]), shares);
      continue;
    }
    const size_t mine = shares.sizes[group.rank()];
    char* const place = output + done * width + shares.places[group.rank()];
    reduce_scatter(group, input + done * width, shares, place, mine / width, type, op);
    const Parts out{std::vector<size_t>(group.size(), mine),
                    std::vector<size_t>(group.size(), shares.places[group.rank()])};
    all_to_all(group, output + done * width, out, output + done * width, shares);
  }
  if (!imagined) mark_result(output, count * width, group.any_modelled());
}

template <class Pointer>
char* bytes_at(Pointer* pointer) {
  return static_cast<char*>(const_cast<void*>(static_cast<const void*>(pointer)));
}

}  // namespace

HcclResult HcclAllReduce(void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op, HcclComm comm,
                         aclrtStream stream) {
  return on_graph(comm, __func__, stream, [=](Communicator& group) {
    check_buffers(input, output, count);
    check_reduction(type, op);
    group.agree(call_of("HcclAllReduce", count, type, op), prepare_input(input, count, type));
    all_reduce(group, bytes_at(input), bytes_at(output), count, type, op);
  });
}

HcclResult HcclReduce(void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op, uint32_t root,
                      HcclComm comm, aclrtStream stream) {
  return on_graph(comm, __func__, stream, [=](Communicator& group) {
    require(root < group.size(), "root " + std::to_string(root) + " is no rank of the group");
    check_buffers(input, group.rank() == root ? output : input, count);
    check_reduction(type, op);
    group.agree(call_of("HcclReduce", count, type, op, root), prepare_input(input, count, type));
    reduce_to(group, root, bytes_at(input), bytes_at(output), count, type, op);
  });
}

HcclResult HcclBroadcast(void* buffer, uint64_t count, HcclDataType type, uint32_t root, HcclComm comm, aclrtStream stream) {
  return on_graph(comm, __func__, stream, [=](Communicator& group) {
    require(root < group.size(), "root " + std::to_string(root) + " is no rank of the group");
    check_buffers(buffer, buffer, count);
    group.agree(call_of("HcclBroadcast", count, type, -1, root), prepare_input(buffer, count, type));
    send_from(group, root, bytes_at(buffer), count * size_of(type));
  });
}

HcclResult HcclScatter(void* input, void* output, uint64_t count, HcclDataType type, uint32_t root, HcclComm comm,
                       aclrtStream stream) {
  return on_graph(comm, __func__, stream, [=](Communicator& group) {
    require(root < group.size(), "root " + std::to_string(root) + " is no rank of the group");
    check_buffers(group.rank() == root ? input : output, output, count);
    const uint64_t all = group.rank() == root ? count * group.size() : 0;
    group.agree(call_of("HcclScatter", count, type, -1, root), prepare_input(input, all, type));
    const size_t bytes = count * size_of(type);
    if (is_imagined(bytes)) {
      imagine_root(group, root, bytes, true);
      if (group.rank() == root && !too_large_to_send(bytes)) {
        std::memmove(output, bytes_at(input) + root * bytes, bytes);
        return mark_result(output, bytes, group.modelled(root));
      }
      return imagine_message(output, count, type);
    }
    if (group.rank() != root) {
      group.wire(root).receive(output, bytes);
      return mark_result(output, bytes, group.modelled(root));
    }
    for (uint32_t rank = 0; rank < group.size(); ++rank) {
      const char* part = bytes_at(input) + rank * bytes;
      rank == root ? static_cast<void>(std::memmove(output, part, bytes)) : group.wire(rank).send(part, bytes);
    }
    mark_result(output, bytes, group.modelled(root));
  });
}

HcclResult HcclAllGather(void* input, void* output, uint64_t count, HcclDataType type, HcclComm comm, aclrtStream stream) {
  return on_graph(comm, __func__, stream, [=](Communicator& group) {
    check_buffers(input, output, count);
    group.agree(call_of("HcclAllGather", count, type), prepare_input(input, count, type));
    const size_t bytes = count * size_of(type);
    all_to_all(group, bytes_at(input), same_parts(group.size(), bytes), bytes_at(output), equal_parts(group.size(), bytes));
  });
}

HcclResult HcclAllGatherV(void* input, uint64_t count, void* output, const void* counts, const void* places,
                          HcclDataType type, HcclComm comm, aclrtStream stream) {
  return on(comm, __func__, stream, [&](Communicator& group) {
    check_buffers(input, output, count);
    const Parts in = listed_parts(group.size(), counts, places, size_of(type));
    group.agree(call_of("HcclAllGatherV", 0, type), prepare_input(input, count, type));
    all_to_all(group, bytes_at(input), same_parts(group.size(), count * size_of(type)), bytes_at(output), in);
  });
}

HcclResult HcclReduceScatter(void* input, void* output, uint64_t count, HcclDataType type, HcclReduceOp op, HcclComm comm,
                             aclrtStream stream) {
  return on_graph(comm, __func__, stream, [=](Communicator& group) {
    check_buffers(input, output, count);
    check_reduction(type, op);
    group.agree(call_of("HcclReduceScatter", count, type, op), prepare_input(input, count * group.size(), type));
    const Parts out = equal_parts(group.size(), count * size_of(type));
    reduce_scatter(group, bytes_at(input), out, bytes_at(output), count, type, op);
  });
}

HcclResult HcclReduceScatterV(void* input, const void* counts, const void* places, void* output, uint64_t count,
                              HcclDataType type, HcclReduceOp op, HcclComm comm, aclrtStream stream) {
  return on(comm, __func__, stream, [&](Communicator& group) {
    check_buffers(input, output, count);
    check_reduction(type, op);
    const Parts out = listed_parts(group.size(), counts, places, size_of(type));
    group.agree(call_of("HcclReduceScatterV", 0, type, op), prepare_parts(input, out, type));
    reduce_scatter(group, bytes_at(input), out, bytes_at(output), count, type, op);
  });
}

HcclResult HcclAlltoAll(const void* input, uint64_t send_count, HcclDataType send_type, const void* output,
                        uint64_t receive_count, HcclDataType receive_type, HcclComm comm, aclrtStream stream) {
  return on_graph(comm, __func__, stream, [=](Communicator& group) {
    check_buffers(input, output, send_count);
    group.agree(call_of("HcclAlltoAll", send_count, send_type), prepare_input(input, send_count * group.size(), send_type));
    all_to_all(group, bytes_at(input), equal_parts(group.size(), send_count * size_of(send_type)), bytes_at(output),
               equal_parts(group.size(), receive_count * size_of(receive_type)));
  });
}

HcclResult HcclAlltoAllV(const void* input, const void* send_counts, const void* send_places, HcclDataType send_type,
                         const void* output, const void* receive_counts, const void* receive_places,
                         HcclDataType receive_type, HcclComm comm, aclrtStream stream) {
  return on(comm, __func__, stream, [&](Communicator& group) {
    const Parts out = listed_parts(group.size(), send_counts, send_places, size_of(send_type));
    const Parts in = listed_parts(group.size(), receive_counts, receive_places, size_of(receive_type));
    group.agree(call_of("HcclAlltoAllV", 0, send_type), prepare_parts(input, out, send_type));
    all_to_all(group, bytes_at(input), out, bytes_at(output), in);
  });
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
  return on_graph(comm, __func__, stream,
            [](Communicator& group) { group.agree(call_of("HcclBarrier", 0, HCCL_DATA_TYPE_RESERVED)); });
}
