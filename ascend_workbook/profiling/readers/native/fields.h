// The members of an event that are used, by their names.
#pragma once

#include <cstdint>

#include "json.h"

namespace trace {

// From `task` on they are members of `args`.
enum Field : int {
  kName, kPh, kCat, kPid, kTid, kTs, kDur, kId, kArgs,
  kTask, kDims, kTypes, kStack, kExternal, kExternalOld, kCorrelation, kConnection, kDevice, kStream,
  kCollective, kGroup, kRanks, kNumber, kElements, kDtype, kPeer,
  kFields, kUnused = -1
};

constexpr std::uint32_t bit(int field) { return 1u << field; }

// As far as it was read; a field is told where its bit of `seen` is set.
struct Event {
  std::uint32_t seen = 0;
  std::int32_t stack = 0;  // the code of `kStack`, 0: none
  Token tokens[kFields];

  Kind kind(int field) const { return seen & bit(field) ? tokens[field].kind : Kind::none; }
  bool absent(int field) const { return kind(field) == Kind::none || kind(field) == Kind::null; }
  bool is_text(int field) const { return kind(field) == Kind::string || kind(field) == Kind::escaped; }
  bool is_label(int field) const { return absent(field) || is_text(field) || kind(field) == Kind::integer; }

  // Whether it is this text, given with its quotes, without any escape.
  bool is(int field, const char* quoted, std::size_t size) const {
    return kind(field) == Kind::string && tokens[field].size == size &&
           std::memcmp(tokens[field].at, quoted, size) == 0;
  }
};

template <std::size_t size>
inline bool same(const char* p, const char (&text)[size]) {
  return std::memcmp(p, text, size - 1) == 0;
}

// The field of an event that has this name (without quotes).
inline Field field_of(const char* p, std::size_t size) {
  switch (size) {
    case 2:
      return same(p, "ph") ? kPh : same(p, "ts") ? kTs : same(p, "id") ? kId : kUnused;
    case 3:
      return same(p, "pid") ? kPid : same(p, "tid") ? kTid : same(p, "dur") ? kDur : same(p, "cat") ? kCat : kUnused;
    case 4:
      return same(p, "name") ? kName : same(p, "args") ? kArgs : kUnused;
    default:
      return kUnused;
  }
}

// The field of an event's `args` that has this name.
inline Field argument_of(const char* p, std::size_t size) {
  switch (size) {
    case 3:
      return same(p, "Seq") ? kNumber : kUnused;
    case 5:
      return same(p, "dtype") ? kDtype : same(p, "count") ? kElements : kUnused;
    case 6:
      return same(p, "device") ? kDevice : same(p, "stream") ? kStream : kUnused;
    case 8:
      return same(p, "dst rank") ? kPeer : kUnused;
    case 9:
      return same(p, "Task Type") ? kTask : same(p, "data_type") ? kDtype : kUnused;
    case 10:
      return same(p, "Input Dims") ? kDims : same(p, "Input type") ? kTypes : same(p, "Call stack") ? kStack : kUnused;
    case 11:
      return same(p, "External id")   ? kExternal
             : same(p, "external id") ? kExternalOld
             : same(p, "correlation") ? kCorrelation
                                      : kUnused;
    case 13:
      return same(p, "connection_id") ? kConnection : same(p, "In msg nelems") ? kElements : kUnused;
    case 15:
      return same(p, "Collective name") ? kCollective : kUnused;
    case 18:
      return same(p, "Process Group Name") ? kGroup : kUnused;
    case 19:
      return same(p, "Process Group Ranks") ? kRanks : kUnused;
    default:
      return kUnused;
  }
}

}  // namespace trace
