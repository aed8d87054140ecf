// Every rank gives each other rank a part and gets one: sizes and places in bytes, by rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sim_hccl {

struct Parts {
  std::vector<size_t> sizes, places;
};

}  // namespace sim_hccl
