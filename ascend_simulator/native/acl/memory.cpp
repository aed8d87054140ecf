// Device and pinned memory: both are host memory, each block registered with its owner, the device's total enforced.
#include "runtime.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "../shapes_only/contents.h"

namespace {

// Alignment that AscendCL promises for aclrtMalloc, and the padding it adds for reads of whole lines
// (AscendCL reference, aclrtMalloc: "size is rounded up to 32 and 32 more are added").
constexpr size_t kAlignment = 512, kPadding = 32;

// Blocks of at least this size lie on huge pages where the host gives some on request, as an NPU's memory does.
constexpr size_t kHugePage = size_t{2} << 20;

std::mutex mutex;

// Never destroyed: torch_npu frees blocks from static destructors, in an order that nobody controls.
auto& blocks = *new std::map<char*, sim::Block>;

std::vector<size_t>& used() {
  static auto* bytes = new std::vector<size_t>(std::max(sim::device_count(), 1), 0);
  return *bytes;
}

size_t padded(size_t size, size_t unit) { return (size + kPadding + unit - 1) / unit * unit; }

char* reserve_huge(size_t size) {
  const size_t wanted = padded(size, kHugePage), whole = wanted + kHugePage;
  void* mapped = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* start = static_cast<char*>(mapped);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(start) % kHugePage) % kHugePage;
  if (before > 0) munmap(start, before);
  munmap(start + before + wanted, kHugePage - before);
  if (!sim::shapes_only()) madvise(start + before, wanted, MADV_HUGEPAGE);  // there a few bytes of a block are written
  return start + before;
}

char* reserve(size_t size) {
  if (size >= kHugePage) return reserve_huge(size);
  return static_cast<char*>(std::aligned_alloc(kAlignment, padded(size, kAlignment)));
}

void give_back(const sim::Block& block) {
  if (sim::shapes_only()) sim::forget_content(block.begin, block.size);
  if (block.size >= kHugePage) {
    munmap(block.begin, padded(block.size, kHugePage));
  } else {
    std::free(block.begin);
  }
}

aclError allocate(const char* function, void** pointer, size_t size, sim::Where where) {
  if (pointer == nullptr) return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "the pointer is null");
  if (size == 0) return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "size is 0");
  const int device = sim::current_device();
  if (device < 0) return sim::fail(ACL_ERROR_RT_CONTEXT_NULL, function, "this thread has set no device");
  const bool counted = where == sim::Where::device;
  if (counted) {
    if (aclError code = sim::charge(function, device, size)) return code;
  }
  char* begin = reserve(size);
  if (begin == nullptr) {
    if (counted) sim::discharge(device, size);
    return sim::fail(ACL_ERROR_RT_MEMORY_ALLOCATION, function, "the host has no %zu bytes", size);
  }
  sim::add_block({begin, size, where, device});
  *pointer = begin;
  return ACL_SUCCESS;
}

aclError release(const char* function, void* pointer, sim::Where where) {
  if (pointer == nullptr) return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "the pointer is null");
  sim::Block block{};
  if (!sim::remove_block(pointer, where, false, &block)) {
    return sim::fail(ACL_ERROR_RT_PARAM_INVALID, function, "%p is not the start of a block of this kind", pointer);
  }
  if (where == sim::Where::device) sim::discharge(block.device, block.size);
  give_back(block);
  return ACL_SUCCESS;
}

}  // namespace

namespace sim {

bool find_block(const void* pointer, Block* result) {
  std::lock_guard<std::mutex> lock(mutex);
  char* at = const_cast<char*>(static_cast<const char*>(pointer));
  auto next = blocks.upper_bound(at);
  if (next == blocks.begin()) return false;
  const Block& block = std::prev(next)->second;
  if (at >= block.begin + block.size) return false;
  *result = block;
  return true;
}

size_t room_from(const void* pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  char* at = const_cast<char*>(static_cast<const char*>(pointer));
  auto block = blocks.upper_bound(at);
  if (block == blocks.begin()) return 0;
  char* end = at;
  for (--block; block != blocks.end() && block->first <= end; ++block) end = block->second.begin + block->second.size;
  return end > at ? static_cast<size_t>(end - at) : 0;
}

void add_block(const Block& block) {
  std::lock_guard<std::mutex> lock(mutex);
  blocks[block.begin] = block;
}

bool remove_block(const void* begin, Where where, bool mapped, Block* removed) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = blocks.find(const_cast<char*>(static_cast<const char*>(begin)));
  if (found == blocks.end() || found->second.where != where || found->second.mapped != mapped) return false;
  *removed = found->second;
  blocks.erase(found);
  return true;
}

aclError charge(const char* function, int device, size_t size) {
  std::lock_guard<std::mutex> lock(mutex);
  const size_t left = device_memory() - used()[device];
  if (size > left) {
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, function,
                "%zu bytes do not fit: device %d has %zu of %zu free (set by ASCEND_WORKBOOK_SIM_MEMORY_MIB)", size, device,
                left, device_memory());
  }
  used()[device] += size;
  return ACL_SUCCESS;
}

void discharge(int device, size_t size) {
  std::lock_guard<std::mutex> lock(mutex);
  used()[device] -= size;
}

}  // namespace sim

aclError aclrtMalloc(void** pointer, size_t size, aclrtMemMallocPolicy) {
  return allocate(__func__, pointer, size, sim::Where::device);
}

aclError aclrtMallocAlign32(void** pointer, size_t size, aclrtMemMallocPolicy) {
  return allocate(__func__, pointer, size, sim::Where::device);
}

aclError aclrtFree(void* pointer) { return release(__func__, pointer, sim::Where::device); }

aclError aclrtMallocHost(void** pointer, size_t size) { return allocate(__func__, pointer, size, sim::Where::host); }

aclError aclrtMallocHostWithCfg(void** pointer, uint64_t size, aclrtMallocConfig*) {
  return allocate(__func__, pointer, size, sim::Where::host);
}

aclError aclrtFreeHost(void* pointer) { return release(__func__, pointer, sim::Where::host); }

aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
  SIM_REQUIRE(free != nullptr && total != nullptr, ACL_ERROR_RT_PARAM_INVALID, "free or total is null");
  SIM_REQUIRE(sim::current_device() >= 0, ACL_ERROR_RT_CONTEXT_NULL, "this thread has set no device");
  std::lock_guard<std::mutex> lock(mutex);
  *total = sim::device_memory();
  *free = *total - used()[sim::current_device()];
  return ACL_SUCCESS;
}

aclError aclrtPointerGetAttributes(const void* pointer, aclrtPtrAttributes* attributes) {
  SIM_REQUIRE(pointer != nullptr && attributes != nullptr, ACL_ERROR_RT_PARAM_INVALID, "a pointer is null");
  sim::Block block{};
  *attributes = {};
  attributes->location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
  if (!sim::find_block(pointer, &block)) return ACL_SUCCESS;
  attributes->location.id = static_cast<uint32_t>(block.device);
  attributes->location.type =
      block.where == sim::Where::device ? ACL_MEM_LOCATION_TYPE_DEVICE : ACL_MEM_LOCATION_TYPE_HOST;
  attributes->pageSize = static_cast<uint32_t>(4096);
  return ACL_SUCCESS;
}
