// What came next the last time: events of a kind have the same members in the same order, and many the same values.
//
// Keys form a tree, each below the one before it. What was there before is compared with the text at once, whole; only
// where it differs is the text read. A text that is equal was checked when it was read.
#pragma once

#include <cstdint>
#include <vector>

#include "fields.h"
#include "json.h"

namespace trace {

constexpr std::ptrdiff_t kAtOnce = 32;

// Whether `size` bytes (1 to 32) at `p` are those; 32 bytes can be read at both.
inline bool same_bytes(const char* p, const char* text, unsigned size) {
  return std::memcmp(p, text, size) == 0;
}

struct alignas(64) Step {
  char key[kAtOnce];    // from its first quote up to its value
  char value[kAtOnce];  // that it had last, and the byte behind it
  Step *child = nullptr, *sibling = nullptr, *inside = nullptr;
  std::uint8_t key_size = 0, value_size = 0;  // 0: none is kept
  std::uint8_t wait = 0;                      // how often the value is read before it is expected again
  Kind kind = Kind::none;
  Field field = kUnused;
};

class Paths {
 public:
  Paths() {
    steps_.reserve(kMost);  // so that no step moves
    steps_.emplace_back();
  }

  Step* start() { return steps_.data(); }

  // The step from `from` that the text at `p` is, or nullptr. The one found is looked at first the next time.
  Step* next(Step* from, const char* p, const char* end) {
    if (end - p < kAtOnce) return nullptr;
    Step* step = from->child;
    if (step && same_bytes(p, step->key, step->key_size)) return step;
    return step ? other(from, p) : nullptr;
  }

  // A new step; nullptr where there are too many already.
  Step* add(Step* from, const char* key, std::ptrdiff_t size, Field field) {
    if (size > kAtOnce || steps_.size() >= kMost) return nullptr;
    steps_.emplace_back();
    Step* step = &steps_.back();
    std::memcpy(step->key, key, static_cast<std::size_t>(size));
    step->key_size = static_cast<std::uint8_t>(size);
    step->field = field;
    step->sibling = from->child;
    return from->child = step;
  }

  // Where steps into an object begin that is this step's value; nullptr as above.
  Step* inside(Step* at) {
    if (!at->inside && steps_.size() < kMost) {
      steps_.emplace_back();
      at->inside = &steps_.back();
    }
    return at->inside;
  }

  // Whether the value at `p` is the one that the step had last.
  static bool repeats(Step& step, const char* p, const char* end) {
    if (step.wait) {
      --step.wait;
      return false;
    }
    if (!step.value_size || end - p < kAtOnce) return false;
    if (same_bytes(p, step.value, step.value_size + 1u)) return true;
    step.wait = kPatience;
    return false;
  }

  // The byte behind the value, which is not part of any number, makes a longer one differ.
  static void keep(Step& step, const Token& token) {
    if (step.wait || token.size >= kAtOnce) return;
    std::memcpy(step.value, token.at, token.size + 1);
    step.value_size = static_cast<std::uint8_t>(token.size);
    step.kind = token.kind;
  }

 private:
  static constexpr std::size_t kMost = 2048;
  static constexpr int kSiblings = 8;
  static constexpr std::uint8_t kPatience = 15;

  Step* other(Step* from, const char* p) {
    Step** link = &from->child->sibling;
    for (int tries = 1; *link && tries < kSiblings; ++tries, link = &(*link)->sibling) {
      Step* found = *link;
      if (!same_bytes(p, found->key, found->key_size)) continue;
      *link = found->sibling;
      found->sibling = from->child;
      return from->child = found;
    }
    return nullptr;
  }

  std::vector<Step> steps_;
};

}  // namespace trace
