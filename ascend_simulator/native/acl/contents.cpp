// What memory holds in a run of shapes only, as ranges of addresses. Neighbours of one kind are one range, so that the
// weights of a whole model are a handful.
#include "../shapes_only/contents.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "runtime.h"

namespace sim {
namespace {

struct Range {
  char* end;
  Content content;
};

std::mutex mutex;
auto& ranges = *new std::map<char*, Range>;     // what is not known
auto& watched = *new std::map<char*, char*>;    // host memory that the simulator gave: begin, end

using Place = std::map<char*, Range>::iterator;

char* bytes_at(const void* pointer) { return const_cast<char*>(static_cast<const char*>(pointer)); }

Place first_touching(char* begin) {
  auto at = ranges.upper_bound(begin);
  if (at != ranges.begin() && std::prev(at)->second.end > begin) --at;
  return at;
}

// Takes the range out of the map; what reaches beyond it stays.
void cut(char* begin, char* end) {
  auto at = first_touching(begin);
  while (at != ranges.end() && at->first < end) {
    const auto [start, range] = *at;
    at = ranges.erase(at);
    if (start < begin) ranges[start] = {begin, range.content};
    if (range.end > end) {
      ranges[end] = {range.end, range.content};
      return;
    }
  }
}

void put(char* begin, char* end, Content content) {
  cut(begin, end);
  if (content == Content::known) return;
  auto next = ranges.lower_bound(begin);
  if (next != ranges.end() && next->first == end && next->second.content == content) {
    end = next->second.end;
    next = ranges.erase(next);
  }
  if (next != ranges.begin()) {
    const auto before = std::prev(next);
    if (before->second.end == begin && before->second.content == content) {
      before->second.end = end;
      return;
    }
  }
  ranges[begin] = {end, content};
}

bool is_watched(char* at) {
  auto next = watched.upper_bound(at);
  return next != watched.begin() && std::prev(next)->second > at;
}

bool is_ours(char* at) {
  Block block{};
  return is_watched(at) || find_block(at, &block);
}

}  // namespace

bool can_be_marked(const void* begin) {
  std::lock_guard<std::mutex> lock(mutex);
  return is_ours(bytes_at(begin));
}

void set_content(const void* begin, size_t bytes, Content content) {
  if (bytes == 0) return;
  std::lock_guard<std::mutex> lock(mutex);
  if (content == Content::known && ranges.empty()) return;
  char* const at = bytes_at(begin);
  if (content == Content::known || is_ours(at)) put(at, at + bytes, content);
}

Content content_of(const void* begin, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  Content found = Content::known;
  char* const at = bytes_at(begin);
  for (auto range = first_touching(at); range != ranges.end() && range->first < at + bytes; ++range) {
    found = std::max(found, range->second.content);
    if (found == Content::hollow) break;
  }
  return found;
}

std::vector<Span> hollow_parts(const void* begin, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<Span> parts;
  char *const at = bytes_at(begin), *const end = at + bytes;
  for (auto range = first_touching(at); range != ranges.end() && range->first < end; ++range) {
    if (range->second.content != Content::hollow) continue;
    char* const first = std::max(at, range->first);
    parts.push_back({first, static_cast<size_t>(std::min(end, range->second.end) - first)});
  }
  return parts;
}

void copy_content(const void* to, const void* from, size_t bytes) { set_content(to, bytes, content_of(from, bytes)); }

void watch_host(const void* begin, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  char* const at = bytes_at(begin);
  cut(at, at + bytes);
  watched[at] = at + bytes;
}

void forget_host(const void* begin, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  char* const at = bytes_at(begin);
  cut(at, at + bytes);
  watched.erase(at);
}

void forget_content(const void* begin, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!ranges.empty()) cut(bytes_at(begin), bytes_at(begin) + bytes);
}

namespace {
std::atomic<uint64_t> collectives{0};
}  // namespace

void count_collective() { ++collectives; }
uint64_t collectives_called() { return collectives.load(std::memory_order_relaxed); }

}  // namespace sim
