// JSON text, checked as strictly as Python's json: strings, escapes, UTF-8, numbers, literals, brackets.
//
// What is rare is turned down (nullptr) although json would read it: NaN, surrogates as escapes, deep nesting,
// endless numbers. Text may end anywhere; behind its end stands a NUL, at which every function turns it down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace trace {

constexpr int kDeepest = 64;
constexpr std::ptrdiff_t kLongestNumber = 1000;

enum class Kind : std::uint8_t { none, string, escaped, integer, real, null, boolean, nested };

// One value as it stands in the text, strings with their quotes.
struct Token {
  const char* at;
  std::size_t size;
  Kind kind;
};

inline std::uint64_t word_at(const char* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

inline bool is_hex(char c) { return is_digit(c) || static_cast<unsigned char>((c | 32) - 'a') < 6; }

class Json {
 public:
  explicit Json(const char* end) : end_(end) {}

  const char* end() const { return end_; }

  static const char* space(const char* p) {
    if (*p == ' ') ++p;
    while (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r') ++p;
    return p;
  }

  // Behind the closing quote of a string, from behind its opening one.
  const char* string(const char* p, bool& escaped) const {
    for (;;) {
      p = plain(p);
      const auto c = static_cast<unsigned char>(*p);
      if (c == '"') return p + 1;
      if (c == '\\') {
        p = escape(p + 1);
        escaped = true;
      } else {
        p = c < 0x80 ? nullptr : utf8(p);
      }
      if (!p) return nullptr;
    }
  }

  // Behind the number; `real` where it has a fraction or an exponent.
  const char* number(const char* p, bool& real) const {
    const char* begin = p;
    if (*p == '-') ++p;
    const char* first = p;
    p = digits(p);
    if (p == first || (*first == '0' && p - first > 1)) return nullptr;
    if (*p == '.') {
      real = true;
      const char* part = ++p;
      p = digits(p);
      if (p == part) return nullptr;
    }
    if (*p == 'e' || *p == 'E') {
      real = true;
      ++p;
      if (*p == '+' || *p == '-') ++p;
      const char* power = p;
      p = digits(p);
      if (p == power) return nullptr;
    }
    return p - begin <= kLongestNumber ? p : nullptr;
  }

  // Behind any value, which `token` then names.
  const char* value(const char* p, int depth, Token& token) const {
    token.at = p;
    bool flag = false;
    switch (*p) {
      case '"':
        p = string(p + 1, flag);
        token.kind = flag ? Kind::escaped : Kind::string;
        break;
      case '{':
      case '[':
        p = nested(p, depth);
        token.kind = Kind::nested;
        break;
      case 't':
        p = literal(p, "true", 4);
        token.kind = Kind::boolean;
        break;
      case 'f':
        p = literal(p, "false", 5);
        token.kind = Kind::boolean;
        break;
      case 'n':
        p = literal(p, "null", 4);
        token.kind = Kind::null;
        break;
      default:
        p = number(p, flag);
        token.kind = flag ? Kind::real : Kind::integer;
    }
    if (p) token.size = static_cast<std::size_t>(p - token.at);
    return p;
  }

  const char* skip(const char* p, int depth) const {
    Token token;
    return value(p, depth, token);
  }

 private:
  // The first byte that a string may not hold as it is, or that is not ASCII.
  const char* plain(const char* p) const {
    constexpr std::uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    while (end_ - p >= 8) {
      const std::uint64_t bytes = word_at(p);
      const std::uint64_t quote = bytes ^ (ones * '"'), backslash = bytes ^ (ones * '\\');
      const std::uint64_t found =
          (bytes | (bytes - ones * 0x20) | ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)) & tops;
      if (found) return p + __builtin_ctzll(found) / 8;  // a borrow passes upwards only: the lowest hit is one
      p += 8;
    }
    while (static_cast<unsigned char>(*p) - 0x20u < 0x60u && *p != '"' && *p != '\\') ++p;
    return p;
  }

  const char* digits(const char* p) const {
    while (is_digit(*p)) ++p;
    return p;
  }

  static const char* escape(const char* p) {
    switch (*p) {
      case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
        return p + 1;
      case 'u':
        break;
      default:
        return nullptr;
    }
    for (int at = 1; at <= 4; ++at)
      if (!is_hex(p[at])) return nullptr;
    const bool surrogate = (p[1] | 32) == 'd' && p[2] >= '8';  // 8, 9, a to f
    return surrogate ? nullptr : p + 5;
  }

  // Behind one character of several bytes, none longer than it need be, none a surrogate.
  static const char* utf8(const char* p) {
    const auto byte = [p](int at) { return static_cast<unsigned char>(p[at]); };
    const auto follows = [&](int at) { return (byte(at) & 0xC0) == 0x80; };
    const unsigned first = byte(0), second = byte(1);
    if (first < 0xC2 || first > 0xF4 || !follows(1)) return nullptr;
    if (first < 0xE0) return p + 2;
    if (!follows(2)) return nullptr;
    if (first < 0xF0) return (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ? nullptr : p + 3;
    if (!follows(3)) return nullptr;
    return (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F) ? nullptr : p + 4;
  }

  static const char* literal(const char* p, const char* text, int size) {
    return std::strncmp(p, text, static_cast<std::size_t>(size)) == 0 ? p + size : nullptr;
  }

  const char* nested(const char* p, int depth) const {
    if (depth >= kDeepest) return nullptr;
    const bool object = *p == '{';
    const char closing = object ? '}' : ']';
    p = space(p + 1);
    if (*p == closing) return p + 1;
    for (;;) {
      p = object ? member(p, depth) : skip(p, depth + 1);
      if (!p) return nullptr;
      p = space(p);
      if (*p == closing) return p + 1;
      if (*p != ',') return nullptr;
      p = space(p + 1);
    }
  }

  const char* member(const char* p, int depth) const {
    bool escaped = false;
    if (*p != '"' || !(p = string(p + 1, escaped))) return nullptr;
    p = space(p);
    return *p == ':' ? skip(space(p + 1), depth + 1) : nullptr;
  }

  const char* end_;
};

}  // namespace trace
