#include "imagined.h"

#include <algorithm>
#include <cstring>

#include "../shapes_only/contents.h"
#include "reduce.h"

namespace sim_hccl {
namespace {

using sim::Content;

bool is_floating(HcclDataType type) {
  return type == HCCL_DATA_TYPE_FP16 || type == HCCL_DATA_TYPE_FP32 || type == HCCL_DATA_TYPE_FP64 ||
         type == HCCL_DATA_TYPE_BFP16;
}

// 1 in each floating-point type: its bytes from the lowest on.
void write_one(char* to, HcclDataType type) {
  const double of_double = 1;
  const float of_float = 1;
  const uint16_t of_half = 0x3c00, of_bfloat16 = 0x3f80;
  const void* one = type == HCCL_DATA_TYPE_FP64   ? static_cast<const void*>(&of_double)
                    : type == HCCL_DATA_TYPE_FP32 ? static_cast<const void*>(&of_float)
                    : type == HCCL_DATA_TYPE_FP16 ? static_cast<const void*>(&of_half)
                                                  : &of_bfloat16;
  std::memcpy(to, one, size_of(type));
}

void write_stand_ins(char* to, size_t bytes, HcclDataType type) {
  std::memset(to, 0, bytes);
  for (size_t at = 0; is_floating(type) && at + size_of(type) <= bytes; at += size_of(type)) write_one(to + at, type);
  sim::set_content(to, bytes, Content::stand_in);
}

}  // namespace

bool too_large_to_send(size_t bytes) {
  constexpr size_t kLeast = size_t{1} << 20;
  return sim::shapes_only() && bytes > std::max(sim::keep_bytes(), kLeast);
}

bool is_imagined(size_t bytes) { return sim::alone() || too_large_to_send(bytes); }

uint32_t prepare_input(const void* input, uint64_t count, HcclDataType type) {
  if (!sim::shapes_only() || count == 0 || input == nullptr) return 0;
  const size_t bytes = count * size_of(type);
  if (!too_large_to_send(bytes)) {
    for (const sim::Span& part : sim::hollow_parts(input, bytes)) write_stand_ins(part.begin, part.bytes, type);
  }
  return sim::content_of(input, bytes) != Content::known;
}

uint32_t prepare_parts(const void* input, const Parts& parts, HcclDataType type) {
  size_t end = 0;
  for (size_t rank = 0; rank < parts.sizes.size(); ++rank) end = std::max(end, parts.places[rank] + parts.sizes[rank]);
  return prepare_input(input, end / size_of(type), type);
}

void mark_hollow(const void* result, size_t bytes) {
  if (sim::shapes_only()) sim::set_content(result, bytes, Content::hollow);
}

void mark_result(const void* result, size_t bytes, bool modelled) {
  if (!sim::shapes_only()) return;
  sim::set_content(result, bytes, too_large_to_send(bytes) ? Content::hollow : modelled ? Content::stand_in : Content::known);
}

void imagine_root(Communicator& group, uint32_t root, size_t bytes, bool from_root) {
  for (uint32_t other = 0; other < group.size(); ++other) {
    if (other == group.rank() || (group.rank() != root && other != root)) continue;
    const bool sends = (group.rank() == root) == from_root;
    group.wire(other).pretend(sends ? bytes : 0, sends ? 0 : bytes);
  }
}

void imagine_reduction(const Communicator& group, const void* input, void* output, uint64_t count, HcclDataType type,
                       HcclReduceOp op) {
  const size_t bytes = count * size_of(type);
  if (bytes == 0) return;
  if (too_large_to_send(bytes)) return sim::set_content(output, bytes, Content::hollow);
  const Content content = sim::content_of(input, bytes);
  const Reduction reduction(type, op);
  std::vector<char> sums(reduction.accumulator_size(count));
  reduction.start(sums.data(), input, count);
  for (uint32_t rank = 1; rank < group.size(); ++rank) reduction.add(sums.data(), input, count);
  reduction.finish(output, sums.data(), count);
  sim::set_content(output, bytes, content);
}

void count_exchange(Communicator& group, const Parts& out, const Parts& in) {
  for (uint32_t other = 0; other < group.size(); ++other) {
    if (other != group.rank()) group.wire(other).pretend(out.sizes[other], in.sizes[other]);
  }
}

// What a peer would send this rank is what this rank gives itself, as far as that reaches.
void imagine_exchange(Communicator& group, const char* input, const Parts& out, char* output, const Parts& in) {
  count_exchange(group, out, in);
  const uint32_t me = group.rank();
  for (uint32_t from = 0; from < group.size(); ++from) {
    const size_t bytes = in.sizes[from], own = std::min(out.sizes[me], bytes);
    char* const to = output + in.places[from];
    const char* const mine = input + out.places[me];
    const bool skipped = too_large_to_send(bytes * group.size()) || sim::content_of(mine, own) == Content::hollow;
    if (skipped) {
      sim::set_content(to, bytes, Content::hollow);
      continue;
    }
    if (to != mine) std::memmove(to, mine, own);
    sim::copy_content(to, mine, own);
    if (own < bytes) sim::set_content(to + own, bytes - own, Content::hollow);
  }
}

void imagine_message(void* buffer, uint64_t count, HcclDataType type) {
  const size_t bytes = count * size_of(type);
  if (too_large_to_send(bytes)) return sim::set_content(buffer, bytes, Content::hollow);
  write_stand_ins(static_cast<char*>(buffer), bytes, type);
}

}  // namespace sim_hccl
