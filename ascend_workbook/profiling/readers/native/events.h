// What was read of events: columns, the texts they count in, and what Python shall look at itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "columns.h"
#include "fields.h"
#include "numbers.h"
#include "table.h"

namespace trace {

// What is longer is shortened in Python (records.py), and counted.
constexpr std::size_t kLongestName = 4096, kLongestJson = 65536;

class Events {
 public:
  explicit Events(std::uint64_t seed)
      : names(seed), origins(seed), called(seed), details(seed), places(seed), stacks(seed) {
    for (Table* table : {&called, &details, &stacks}) table->code("", 0);  // 0: nothing is told
    following_.push_back(0);
  }

  void within(std::int64_t begin_ns, std::int64_t end_ns) {
    begin_ns_ = begin_ns;
    end_ns_ = end_ns;
  }

  // False: the event is for Python, and nothing of it was taken.
  bool complete(const Event& event) {
    std::int64_t external = kNone, correlation = kNone;
    if (!usable(event) || !number(event, kExternal, kExternalOld, external) ||
        !number(event, kCorrelation, kConnection, correlation))
      return false;
    if (!reaches(event, kTs, kDur)) return true;
    const Token name = event.absent(kName) ? Token{"\"\"", 2, Kind::string} : event.tokens[kName];
    const std::int32_t code = names.code(name.at, name.size);
    name_.add(code);
    origin_.add(origin(event, code));
    called_.add(calls(event));
    detail_.add(detail(event));
    external_.add(external);
    correlation_.add(correlation);
    start_ns_.add(time(event, kTs, 0, start_ns_.size()));
    duration_ns_.add(time(event, kDur, 1, duration_ns_.size()));
    return true;
  }

  bool flow(const Event& event, bool head) {
    std::int64_t id = kNone;
    if (!event.is_label(kPid) || !event.is_label(kTid) || !(event.seen & bit(kId)) ||
        !identity(event.tokens[kId], id))
      return false;
    if (!reaches(event, kTs, kUnused)) return true;
    is_head_.add(head);
    id_.add(id);
    at_ns_.add(time(event, kTs, 2, at_ns_.size()));
    joined_.clear();
    join(event, {kPid, kTid});
    place_.add(places.code(joined_.data(), joined_.size()));
    return true;
  }

  // False: whether it is wanted is for Python to say. The device's clock, memory and cache are: most counters are others.
  bool counter(const Event& event, const char* text, std::size_t size) {
    if (event.kind(kName) == Kind::escaped) return false;
    const auto named = [&](const char* name, std::size_t length) {
      const Token& token = event.tokens[kName];
      return event.kind(kName) == Kind::string && token.size > length && !std::memcmp(token.at + 1, name, length);
    };
    if (named("AI Core Freq", 12) || named("HBM ", 4) || named("LLC ", 4)) counters.append(text, size).push_back(',');
    return true;
  }

  // The call stack at `p` where it is the one that came after the last before: most recordings repeat their steps.
  std::int32_t stack_at(const char* p, const char* end) {
    const std::int32_t code = following_[static_cast<std::size_t>(last_stack_)];
    const std::size_t size = stacks.size_of(code);
    if (!size || static_cast<std::size_t>(end - p) < size || std::memcmp(p, stacks.text_of(code), size)) return 0;
    last_stack_ = code;
    return code;
  }

  std::int32_t stack(const Token& token) {
    const std::int32_t code = stacks.code(token.at, token.size);
    following_.resize(stacks.count(), 0);
    following_[static_cast<std::size_t>(last_stack_)] = code;
    return last_stack_ = code;
  }

  Table names, origins, called, details, places, stacks;
  std::int64_t memory_records = 0;
  std::vector<std::int64_t> asides;     // begin and end of each event in the piece that Python reads
  std::vector<std::int64_t> odd_times;  // 4 * row + which column, then begin and end in `odd_bytes`
  std::string odd_bytes;
  std::string counters;  // events as JSON, a comma behind each
  Column<std::int32_t> name_{-1}, origin_{-1}, called_{0}, detail_{0}, is_head_{-1}, place_{-1};
  Column<std::int64_t> external_{kNone}, correlation_{kNone}, start_ns_{kNoTime}, duration_ns_{kNoTime};
  Column<std::int64_t> id_{kNone}, at_ns_{kNoTime};

 private:
  static bool usable(const Event& event) {
    const auto text = [&](int field) { return event.absent(field) || event.is_text(field); };
    const bool name = !(event.seen & bit(kName)) || event.is_text(kName);
    const bool args = event.absent(kArgs) || event.kind(kArgs) == Kind::nested;
    for (int field : {kName, kCat, kPid, kTid, kTask, kDevice, kStream})
      if ((event.seen & bit(field)) && event.tokens[field].size > kLongestName) return false;
    for (int field : {kDims, kTypes, kStack, kRanks})
      if ((event.seen & bit(field)) && event.tokens[field].size > kLongestJson) return false;
    if (!name || !args || !text(kCat) || !text(kTask) || !text(kStack) || !event.is_label(kPid) || !event.is_label(kTid)) return false;
    constexpr std::uint32_t rare = bit(kDevice) | bit(kStream) | bit(kCollective) | bit(kGroup) | bit(kNumber) |
                                   bit(kElements) | bit(kDtype) | bit(kPeer);
    for (std::uint32_t left = event.seen & rare; left; left &= left - 1)
      if (!event.is_label(__builtin_ctz(left))) return false;
    return true;
  }

  // A number, that of another field where there is none. False: one of them is no number.
  static bool number(const Event& event, int field, int otherwise, std::int64_t& found) {
    std::int64_t first = kNone, second = kNone;
    if ((event.seen & bit(field)) && !identity(event.tokens[field], first)) return false;
    if ((event.seen & bit(otherwise)) && !identity(event.tokens[otherwise], second)) return false;
    found = first == kNone ? second : first;
    return true;
  }

  std::int64_t time(const Event& event, int field, int which, std::int64_t row) {
    std::int64_t found = kNoTime;
    if ((event.seen & bit(field)) && !nanoseconds(event.tokens[field], found)) {
      const auto begin = static_cast<std::int64_t>(odd_bytes.size());
      odd_bytes.append(event.tokens[field].at, event.tokens[field].size);
      for (std::int64_t one : {4 * row + which, begin, static_cast<std::int64_t>(odd_bytes.size())})
        odd_times.push_back(one);
    }
    return found;
  }

  void join(const Event& event, std::initializer_list<int> fields) {
    for (int field : fields) {
      if (!event.absent(field)) joined_.append(event.tokens[field].at, event.tokens[field].size);
      joined_.push_back('\0');  // which no JSON text holds
    }
  }

  // Nearly always the origin that the name had before.
  std::int32_t origin(const Event& event, std::int32_t name) {
    const auto at = static_cast<std::size_t>(name);
    if (at >= origin_of_.size()) origin_of_.resize(at + 1, -1);
    if (origin_of_[at] >= 0 && is_origin(event, origin_of_[at])) return origin_of_[at];
    joined_.clear();
    join(event, {kPid, kTid, kDevice, kStream, kCat, kTask});
    return origin_of_[at] = origins.code(joined_.data(), joined_.size());
  }

  bool is_origin(const Event& event, std::int32_t code) const {
    const char* p = origins.text_of(code);
    const char* const end = p + origins.size_of(code);
    for (int field : {kPid, kTid, kDevice, kStream, kCat, kTask}) {
      const std::size_t size = event.absent(field) ? 0 : event.tokens[field].size;
      if (static_cast<std::size_t>(end - p) <= size || p[size] || (size && !equal(p, event.tokens[field].at, size)))
        return false;
      p += size + 1;
    }
    return true;
  }

  std::int32_t calls(const Event& event) {
    if (!(event.seen & (bit(kDims) | bit(kStack)))) return 0;
    joined_.assign(reinterpret_cast<const char*>(&event.stack), sizeof event.stack);
    for (int field : {kDims, kTypes}) {
      if (event.seen & bit(field)) joined_.append(event.tokens[field].at, event.tokens[field].size);
      joined_.push_back('\0');
    }
    return called.code(joined_.data(), joined_.size());
  }

  std::int32_t detail(const Event& event) {
    const bool sized = !event.absent(kElements) && !event.absent(kDtype);
    if (event.absent(kCollective) && event.absent(kPeer) && !sized) return 0;
    joined_.clear();
    join(event, {kCollective, kGroup});
    if (event.seen & bit(kRanks)) joined_.append(event.tokens[kRanks].at, event.tokens[kRanks].size);
    joined_.push_back('\0');
    join(event, {kDtype, kNumber, kElements, kPeer});
    return details.code(joined_.data(), joined_.size());
  }

  // Whether it reaches into what is wanted; what tells no usable time does, and is counted later.
  bool reaches(const Event& event, int start, int lasting) const {
    std::int64_t begin = kNoTime, lasts = 0;
    if (begin_ns_ == kNoTime || !(event.seen & bit(start)) || !nanoseconds(event.tokens[start], begin) ||
        begin >= kFar || begin < -kFar)
      return true;
    if (lasting != kUnused && (!(event.seen & bit(lasting)) || !nanoseconds(event.tokens[lasting], lasts) ||
                               lasts >= kFar || lasts < -kFar))
      return true;
    return begin < end_ns_ && begin + lasts >= begin_ns_;
  }

  std::int64_t begin_ns_ = kNoTime, end_ns_ = 0;  // kNoTime: all is wanted
  std::vector<std::int32_t> origin_of_, following_;
  std::int32_t last_stack_ = 0;
  std::string joined_;
};

}  // namespace trace
