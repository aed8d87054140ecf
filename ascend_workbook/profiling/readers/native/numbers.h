// Times and ids as the readers in Python understand them; what is odd is left to these.
#pragma once

#include <cstdint>

#include "json.h"

namespace trace {

constexpr std::int64_t kNoTime = INT64_MIN, kOutOfRange = INT64_MIN + 1;
constexpr std::int64_t kFar = std::int64_t{1} << 62;
constexpr std::int64_t kNone = -1;

// The text without its quotes.
inline Token bare(const Token& token) {
  return token.kind == Kind::string ? Token{token.at + 1, token.size - 2, token.kind} : token;
}

// Eight digits as a number, or -1: three steps join neighbours to pairs, fours and eights.
inline std::int64_t eight_digits(const char* p) {
  std::uint64_t word = word_at(p) ^ 0x3030303030303030u;
  if (((word + 0x7676767676767676u) | word) & 0x8080808080808080u) return -1;
  word = word * 10 + (word >> 8);
  word = (word & 0x000000FF000000FFu) * 0x000F424000000064u + ((word >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u;
  return static_cast<std::int64_t>(word >> 32);
}

// Digits from `p` on, at most to `end`; gives where they stop.
inline const char* take_digits(const char* p, const char* end, std::uint64_t& number) {
  while (end - p >= 8) {
    const std::int64_t eight = eight_digits(p);
    if (eight < 0) break;
    number = number * 100000000u + static_cast<std::uint64_t>(eight);
    p += 8;
  }
  for (; p < end && is_digit(*p); ++p) number = number * 10 + static_cast<std::uint64_t>(*p - '0');
  return p;
}

// Microseconds, digits and perhaps a point and digits -> nanoseconds, halves to even. False: it is told otherwise.
inline bool nanoseconds(const Token& token, std::int64_t& found) {
  const Token text = bare(token);
  const char *p = text.at, *end = p + text.size;
  if ((text.kind != Kind::string && text.kind != Kind::integer && text.kind != Kind::real) || text.size > 24) return false;
  std::uint64_t number = 0;
  const char* point = take_digits(p, end, number);
  if (point == p || point - p > 16) return false;
  p = point;
  if (p < end && *p++ != '.') return false;
  for (int place = 0; place < 3; ++place) {
    const bool told = p < end;
    if (told && !is_digit(*p)) return false;
    number = number * 10 + static_cast<std::uint64_t>(told ? *p++ - '0' : 0);
  }
  const int fourth = p < end ? *p - '0' : 0;
  bool more = false;
  for (const char* at = p; at < end; ++at) {
    if (!is_digit(*at)) return false;
    more = more || (at > p && *at != '0');
  }
  number += fourth > 5 || (fourth == 5 && (more || number % 2));
  found = number < static_cast<std::uint64_t>(kFar) ? static_cast<std::int64_t>(number) : kOutOfRange;
  return true;
}

// An id, a whole number or the text of one. False: it is something else.
inline bool identity(const Token& token, std::int64_t& found) {
  const Token text = bare(token);
  if (text.kind != Kind::string && text.kind != Kind::integer) return false;
  const bool negative = text.kind == Kind::integer && *text.at == '-';
  const char *p = text.at + negative, *end = text.at + text.size;
  if (p == end || end - p > 19) return false;
  std::uint64_t number = 0;
  if (take_digits(p, end, number) != end) return false;
  if (number > static_cast<std::uint64_t>(negative ? kFar - 1 : INT64_MAX)) return false;
  found = negative ? -static_cast<std::int64_t>(number) : static_cast<std::int64_t>(number);
  return true;
}

}  // namespace trace
