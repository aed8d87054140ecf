// Reads whole events of a Chrome trace into columns. Every doubt is left to the reader in Python, which decides.
#include <cstdint>
#include <new>

#include "events.h"
#include "fields.h"
#include "json.h"
#include "paths.h"

namespace trace {

class Scanner {
 public:
  explicit Scanner(std::uint64_t seed) : events_(seed) {}

  Events& events() { return events_; }

  // How many bytes of `text` are events that were taken, with the commas between them; `behind_event` a comma
  // comes first. A NUL stands behind the text.
  std::int64_t scan(const char* text, std::int64_t size, bool arrows, bool behind_event) {
    const Json json(text + size);
    begin_ = text;
    std::int64_t taken = 0;
    events_.asides.clear();
    const char* p = Json::space(text);
    if (behind_event && *p != ',') return 0;
    if (behind_event) p = Json::space(p + 1);
    for (; *p == '{'; p = Json::space(p + 1)) {
      Event event;
      const char* behind = object(json, p, event, field_of, paths_.start());
      if (!behind || !take(event, p - text, behind - text, arrows)) break;
      taken = behind - text;
      p = Json::space(behind);
      if (*p != ',') break;
    }
    return taken;
  }

 private:
  // Behind the object at `p`; the fields that `named` knows are told in `event`. `path`: where its steps begin, or nullptr.
  template <typename Names>
  const char* object(const Json& json, const char* p, Event& event, Names named, Step* path) {
    p = Json::space(p + 1);
    if (*p == '}') return p + 1;
    for (;;) {
      Step* step = path ? paths_.next(path, p, json.end()) : nullptr;
      Field field = kUnused;
      if (step) {
        p += step->key_size;
        field = step->field;
      } else {
        const char* const begin = p;
        p = key(json, p, field, named);
        if (!p) return nullptr;
        if (path) step = paths_.add(path, begin, p - begin, field);
      }
      p = member(json, p, event, field, step);
      if (!p) return nullptr;
      path = step;
      p = Json::space(p);
      if (*p == '}') return p + 1;
      if (*p != ',') return nullptr;
      p = Json::space(p + 1);
    }
  }

  // From a member's name to its value.
  template <typename Names>
  static const char* key(const Json& json, const char* p, Field& field, Names named) {
    if (*p != '"') return nullptr;
    const char* const begin = p + 1;
    bool escaped = false;
    p = json.string(begin, escaped);
    if (!p || escaped) return nullptr;
    field = named(begin, static_cast<std::size_t>(p - begin - 1));
    p = Json::space(p);
    if (*p != ':') return nullptr;
    p = Json::space(p + 1);
    return p < json.end() ? p : nullptr;  // cut short here, its blanks would be missing from the step
  }

  const char* member(const Json& json, const char* p, Event& event, Field field, Step* at) {
    Token unused;
    Token& token = field == kUnused ? unused : event.tokens[field];
    if (field != kUnused) {
      if (event.seen & bit(field)) return nullptr;  // the last of two counts, as json has it
      event.seen |= bit(field);
      if (field == kArgs && *p == '{') {
        token = Token{p, 0, Kind::nested};
        return object(json, p, event, argument_of, at ? paths_.inside(at) : nullptr);
      }
      if (field == kStack) return stack(json, p, event, token);
    }
    if (!at) return json.value(p, kDepth, token);
    Step& step = *at;
    if (Paths::repeats(step, p, json.end())) {
      token = Token{p, step.value_size, step.kind};
      return p + step.value_size;
    }
    p = json.value(p, kDepth, token);
    if (p) Paths::keep(step, token);
    return p;
  }

  const char* stack(const Json& json, const char* p, Event& event, Token& token) {
    event.stack = events_.stack_at(p, json.end());
    if (event.stack) {
      token = Token{p, events_.stacks.size_of(event.stack), Kind::string};
      return p + token.size;
    }
    p = json.value(p, kDepth, token);
    const bool text = token.kind == Kind::string || token.kind == Kind::escaped || token.kind == Kind::null;
    if (p && text) event.stack = events_.stack(token);
    return p;
  }

  bool take(const Event& event, std::int64_t begin, std::int64_t end, bool arrows) {
    if (!(event.seen & bit(kPh))) return true;
    const Token& letter = event.tokens[kPh];
    if (letter.kind != Kind::string) return false;
    switch (letter.size == 3 ? letter.at[1] : '\0') {
      case 'X':
        return events_.complete(event);
      case 's':
      case 'f':
        return !arrows || arrow(event, letter.at[1] == 'f');
      case 'B':
      case 'E':
        return aside(begin, end);
      case 'C':
        return events_.counter(event, begin_ + begin, static_cast<std::size_t>(end - begin)) || aside(begin, end);
      case 'M':
        return event.is(kName, "\"process_name\"", 14) || event.kind(kName) == Kind::escaped ? aside(begin, end) : true;
      case 'i':
      case 'I':
        events_.memory_records += event.is(kName, "\"[memory]\"", 10);
        return event.kind(kName) == Kind::escaped ? aside(begin, end) : true;
      default:
        return true;
    }
  }

  bool arrow(const Event& event, bool head) {
    if (event.kind(kCat) == Kind::escaped) return false;
    return !event.is(kCat, "\"async_npu\"", 11) || events_.flow(event, head);
  }

  bool aside(std::int64_t begin, std::int64_t end) {
    events_.asides.push_back(begin);
    events_.asides.push_back(end);
    return true;
  }

  static constexpr int kDepth = 2;  // of brackets around a member of `args`

  Events events_;
  Paths paths_;
  const char* begin_ = nullptr;  // of the piece
};

}  // namespace trace

#define TRACE_API extern "C" __attribute__((visibility("default")))

// A table is shown by its bytes and by where each text ends in them, behind a first 0.
struct View {
  const void* data;
  std::int64_t size;
};

// nullptr: there is no memory left.
TRACE_API void* trace_new(std::uint64_t seed) {
  try {
    return new trace::Scanner(seed);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

TRACE_API void trace_free(void* scanner) { delete static_cast<trace::Scanner*>(scanner); }

// From here on only what reaches into these nanoseconds is taken.
TRACE_API void trace_within(void* scanner, std::int64_t begin_ns, std::int64_t end_ns) {
  static_cast<trace::Scanner*>(scanner)->events().within(begin_ns, end_ns);
}

// -1: there is no memory left.
TRACE_API std::int64_t trace_scan(void* scanner, const char* text, std::int64_t size, int arrows, int behind_event) {
  try {
    return static_cast<trace::Scanner*>(scanner)->scan(text, size, arrows != 0, behind_event != 0);
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

// The columns, lists and tables by number, as native/scanner.py counts them; valid until the next scan.
TRACE_API View trace_view(void* scanner, int which) {
  const trace::Events& events = static_cast<trace::Scanner*>(scanner)->events();
  const auto column = [](const auto& one) { return View{one.data(), one.size()}; };
  const auto list = [](const auto& one) { return View{one.data(), static_cast<std::int64_t>(one.size())}; };
  switch (which) {
    case 0: return column(events.name_);
    case 1: return column(events.origin_);
    case 2: return column(events.called_);
    case 3: return column(events.detail_);
    case 4: return column(events.external_);
    case 5: return column(events.correlation_);
    case 6: return column(events.start_ns_);
    case 7: return column(events.duration_ns_);
    case 8: return column(events.is_head_);
    case 9: return column(events.id_);
    case 10: return column(events.place_);
    case 11: return column(events.at_ns_);
    case 12: return list(events.asides);
    case 13: return list(events.odd_times);
    case 14: return list(events.odd_bytes);
    case 15: return View{nullptr, events.memory_records};
    case 28: return list(events.counters);
    default: break;
  }
  const trace::Table* tables[] = {&events.names,   &events.origins, &events.called,
                                  &events.details, &events.places,  &events.stacks};
  const int at = (which - 16) / 2;
  if (which < 16 || at >= 6) return View{nullptr, -1};
  return which % 2 ? list(tables[at]->ends()) : list(tables[at]->bytes());
}
