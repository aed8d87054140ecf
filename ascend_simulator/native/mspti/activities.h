// Records of what the simulated device did, kept until somebody asks for them.
#pragma once

#include <atomic>

#include "mspti.h"

namespace sim_mspti {

// The kinds that were asked for, a bit each.
extern std::atomic<uint32_t> kinds;
// Begins to watch the device's work where a kind is asked for, ends it where none is.
void watch_if_asked();
// Whether records of this kind can be made here; where not, stderr says so by name.
bool has_records(msptiActivityKind kind);

size_t size_of(msptiActivityKind kind);
// Hands all that was recorded to the caller's buffers.
void deliver();
void set_buffers(msptiBuffersCallbackRequestFunc request, msptiBuffersCallbackCompleteFunc complete);
// Delivers from a thread of its own so often; 0: never.
void deliver_every(uint32_t milliseconds);

// The caller's own numbers for what this thread launches; pop: false where there is none.
void push_external(msptiExternalCorrelationKind kind, uint64_t id);
bool pop_external(msptiExternalCorrelationKind kind, uint64_t* last);

}  // namespace sim_mspti
