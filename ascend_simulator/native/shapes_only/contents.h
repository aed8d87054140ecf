// Shapes only (ASCEND_WORKBOOK_SIM_SHAPES_ONLY=1): results are reserved and nothing large is computed, copied or sent.
//
// What is known stays known: values that come from the host and are small are computed. What a skipped kernel would have
// written is *modelled*: the memory says so, byte by byte, until it is freed or known values are written over it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#define SIM_CONTENTS __attribute__((visibility("default")))

namespace sim {

enum class Content {
  known,     // the values that the program gave or computed
  stand_in,  // modelled, and a plausible value was written
  hollow,    // modelled, and nothing was written: what lies there is no value at all
};

inline bool shapes_only() {
  static const bool on = [] {
    const char* text = std::getenv("ASCEND_WORKBOOK_SIM_SHAPES_ONLY");
    return text != nullptr && text[0] == '1' && text[1] == '\0';
  }();
  return on;
}

// One rank of WORLD_SIZE runs alone: its peers are imagined, and hold what it holds.
inline bool alone() {
  static const bool on = [] {
    const char* text = std::getenv("ASCEND_WORKBOOK_SIM_ALONE");
    return shapes_only() && text != nullptr && text[0] == '1' && text[1] == '\0';
  }();
  return on;
}

// Values of up to this many bytes are kept: ASCEND_WORKBOOK_SIM_KEEP_BYTES, 1 MiB by default.
inline size_t keep_bytes() {
  static const size_t bytes = [] {
    const char* text = std::getenv("ASCEND_WORKBOOK_SIM_KEEP_BYTES");
    return text == nullptr || *text == '\0' ? size_t{1} << 20 : static_cast<size_t>(std::strtoull(text, nullptr, 10));
  }();
  return bytes;
}

inline bool too_large_to_keep(size_t bytes) { return shapes_only() && bytes > keep_bytes(); }

// Whether what memory holds is known here: a device's, pinned, or the host's that the simulator gave (watch_host).
SIM_CONTENTS bool can_be_marked(const void* begin);

// Says what memory holds. Pageable host memory holds what it holds, unless the simulator itself gave it.
SIM_CONTENTS void set_content(const void* begin, size_t bytes, Content content);

// The least known of what lies there.
SIM_CONTENTS Content content_of(const void* begin, size_t bytes);

inline bool is_modelled(const void* begin, size_t bytes) {
  return shapes_only() && content_of(begin, bytes) != Content::known;
}

struct Span {
  char* begin;
  size_t bytes;
};
// The hollow parts of a range.
SIM_CONTENTS std::vector<Span> hollow_parts(const void* begin, size_t bytes);

// What becomes of `to` where `bytes` are copied there from `from`: the same. Without marks on either side nothing is done.
SIM_CONTENTS void copy_content(const void* to, const void* from, size_t bytes);

// Host memory that the simulator hands out itself, from now on marked as a device's is; and its end.
SIM_CONTENTS void watch_host(const void* begin, size_t bytes);
SIM_CONTENTS void forget_host(const void* begin, size_t bytes);

// Memory that is given back: whoever gets these addresses next starts anew.
SIM_CONTENTS void forget_content(const void* begin, size_t bytes);

// How many collectives this process has called: torch_npu's watchdog is to look at each (kernels/watchdog.h).
SIM_CONTENTS void count_collective();
SIM_CONTENTS uint64_t collectives_called();

}  // namespace sim
