// Collectives of a run of shapes only (shapes_only/contents.h): what is too large to keep is counted and not sent, and the
// peers of a rank that runs alone are taken to hold what it holds.
#pragma once

#include "communicator.h"
#include "parts.h"

namespace sim_hccl {

// Whether so many bytes are more than are sent between ranks in a run of shapes only: what is kept, and 1 MiB at least,
// because torch compares models, and sends objects, by what it gathers.
bool too_large_to_send(size_t bytes);

// Whether so many bytes are not really sent.
bool is_imagined(size_t bytes);

// What a rank says of its input before a collective: 1 where it is modelled. Writes stand-ins where a small input holds
// nothing, so that they can be sent.
uint32_t prepare_input(const void* input, uint64_t count, HcclDataType type);
uint32_t prepare_parts(const void* input, const Parts& parts, HcclDataType type);

// Says of a result that it is as well known as what it was made of. Nothing in an ordinary run.
void mark_result(const void* result, size_t bytes, bool modelled);
void mark_hollow(const void* result, size_t bytes);

// What would go between a root and the others.
void imagine_root(Communicator& group, uint32_t root, size_t bytes, bool from_root);
// The reduction of as many inputs like this as there are ranks.
void imagine_reduction(const Communicator& group, const void* input, void* output, uint64_t count, HcclDataType type,
                       HcclReduceOp op);
// What would go from everyone to everyone, and what comes of it.
void imagine_exchange(Communicator& group, const char* input, const Parts& out, char* output, const Parts& in);
void count_exchange(Communicator& group, const Parts& out, const Parts& in);
// A message from a rank that is not there.
void imagine_message(void* buffer, uint64_t count, HcclDataType type);

}  // namespace sim_hccl
