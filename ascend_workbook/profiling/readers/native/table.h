// Texts by numbers, in order of appearance.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "json.h"

namespace trace {

inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  __extension__ typedef unsigned __int128 Wide;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// For short texts, of which a call would cost more than the look.
inline bool equal(const char* one, const char* other, std::size_t size) {
  if (size > 16) return std::memcmp(one, other, size) == 0;
  if (size >= 8) return word_at(one) == word_at(other) && word_at(one + size - 8) == word_at(other + size - 8);
  for (; size; ++one, ++other, --size)
    if (*one != *other) return false;
  return true;
}

// The last 0 to 7 bytes of a text as one word.
inline std::uint64_t rest_at(const char* p, std::size_t size) {
  if (size >= 4) {
    std::uint32_t low, high;
    std::memcpy(&low, p, 4);
    std::memcpy(&high, p + size - 4, 4);
    return static_cast<std::uint64_t>(high) << 32 | low;
  }
  std::uint64_t word = 0;
  for (std::size_t at = 0; at < size; ++at) word = word << 8 | static_cast<unsigned char>(p[at]);
  return word;
}

// `seed` is drawn anew for each file, so that no file can be made whose texts all collide.
inline std::uint64_t hashed(const char* p, std::size_t size, std::uint64_t seed) {
  std::uint64_t hash = seed ^ size;
  for (; size >= 8; p += 8, size -= 8) hash = mixed(hash ^ word_at(p), 0x9E3779B97F4A7C15u ^ seed);
  return mixed(hash ^ rest_at(p, size), 0xD6E8FEB86659FD93u ^ seed);
}

class Table {
 public:
  explicit Table(std::uint64_t seed) : seed_(seed), slots_(64, -1), ends_{0} {}

  std::int32_t code(const char* text, std::size_t size) {
    const std::uint64_t hash = hashed(text, size, seed_);
    std::size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot] >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
      const std::int32_t found = slots_[slot];
      if (hashes_[static_cast<std::size_t>(found)] == hash && is(found, text, size)) return found;
    }
    return add(slot, hash, text, size);
  }

  bool is(std::int32_t code, const char* text, std::size_t size) const {
    return size_of(code) == size && std::memcmp(text_of(code), text, size) == 0;
  }

  const char* text_of(std::int32_t code) const { return bytes_.data() + ends_[static_cast<std::size_t>(code)]; }

  std::size_t size_of(std::int32_t code) const {
    const auto at = static_cast<std::size_t>(code);
    return static_cast<std::size_t>(ends_[at + 1] - ends_[at]);
  }

  std::size_t count() const { return hashes_.size(); }
  const std::string& bytes() const { return bytes_; }
  const std::vector<std::int64_t>& ends() const { return ends_; }

 private:
  std::int32_t add(std::size_t slot, std::uint64_t hash, const char* text, std::size_t size) {
    const auto code = static_cast<std::int32_t>(count());
    bytes_.append(text, size);
    ends_.push_back(static_cast<std::int64_t>(bytes_.size()));
    hashes_.push_back(hash);
    slots_[slot] = code;
    if (count() * 2 > slots_.size()) grow();
    return code;
  }

  void grow() {
    std::vector<std::int32_t> slots(slots_.size() * 2, -1);
    for (std::size_t code = 0; code < count(); ++code) {
      std::size_t slot = hashes_[code] & (slots.size() - 1);
      while (slots[slot] >= 0) slot = (slot + 1) & (slots.size() - 1);
      slots[slot] = static_cast<std::int32_t>(code);
    }
    slots_.swap(slots);
  }

  std::uint64_t seed_;
  std::vector<std::int32_t> slots_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::int64_t> ends_;  // of each text in `bytes_`, behind a first 0
  std::string bytes_;
};

}  // namespace trace
