// Device memory in two parts: address ranges that are only reserved, and memory that is mapped into them later.
// torch_npu takes it with PYTORCH_NPU_ALLOC_CONF=expandable_segments:True.
#include "runtime.h"

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "../shapes_only/contents.h"

namespace {

struct Physical {
  int file;  // of memory: what is mapped from it keeps its content while it is not mapped
  size_t size;
  int device;
};

std::mutex mutex;

auto& ranges = *new std::map<char*, size_t>;  // outlive torch_npu's static destructors
auto& physicals = *new std::map<const void*, Physical*>;

bool in_a_range(char* begin, size_t size) {
  auto next = ranges.upper_bound(begin);
  if (next == ranges.begin()) return false;
  const auto& [start, length] = *std::prev(next);
  return begin + size <= start + length;
}

}  // namespace

aclError aclrtReserveMemAddress(void** pointer, size_t size, size_t alignment, void* expected, uint64_t) {
  SIM_REQUIRE(pointer != nullptr && size > 0, ACL_ERROR_RT_PARAM_INVALID, "the pointer is null or size is 0");
  SIM_REQUIRE(alignment == 0 && expected == nullptr, ACL_ERROR_RT_PARAM_INVALID, "alignment and expectPtr must be 0");
  void* begin = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  SIM_REQUIRE(begin != MAP_FAILED, ACL_ERROR_RT_MEMORY_ALLOCATION, "no address range of %zu bytes", size);
  std::lock_guard<std::mutex> lock(mutex);
  ranges[static_cast<char*>(begin)] = size;
  *pointer = begin;
  return ACL_SUCCESS;
}

aclError aclrtReleaseMemAddress(void* pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = ranges.find(static_cast<char*>(pointer));
  SIM_REQUIRE(found != ranges.end(), ACL_ERROR_RT_PARAM_INVALID, "%p is not the start of a reserved range", pointer);
  munmap(found->first, found->second);
  ranges.erase(found);
  return ACL_SUCCESS;
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size, const aclrtPhysicalMemProp* prop, uint64_t flags) {
  SIM_REQUIRE(handle != nullptr && prop != nullptr && size > 0, ACL_ERROR_RT_PARAM_INVALID, "a pointer is null or size is 0");
  SIM_REQUIRE(flags == 0, ACL_ERROR_RT_PARAM_INVALID, "flags must be 0");
  const int device = static_cast<int>(prop->location.id);
  SIM_REQUIRE(prop->location.type == ACL_MEM_LOCATION_TYPE_DEVICE && sim::valid_device(device),
              ACL_ERROR_RT_INVALID_DEVICEID, "location %d of type %d", device, prop->location.type);
  if (aclError code = sim::charge(__func__, device, size)) return code;
  const int file = memfd_create("ascend-simulator", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) {
    sim::discharge(device, size);
    if (file >= 0) close(file);
    SIM_FAIL(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host has no %zu bytes", size);
  }
  auto* made = new Physical{file, size, device};
  std::lock_guard<std::mutex> lock(mutex);
  physicals[made] = made;
  *handle = reinterpret_cast<aclrtDrvMemHandle>(made);
  return ACL_SUCCESS;
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = physicals.find(handle);
  SIM_REQUIRE(found != physicals.end(), ACL_ERROR_RT_PARAM_INVALID, "the handle is unknown");
  close(found->second->file);
  sim::discharge(found->second->device, found->second->size);
  delete found->second;
  physicals.erase(found);
  return ACL_SUCCESS;
}

aclError aclrtMapMem(void* pointer, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags) {
  SIM_REQUIRE(flags == 0 && size > 0, ACL_ERROR_RT_PARAM_INVALID, "flags must be 0 and size more");
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = physicals.find(handle);
  SIM_REQUIRE(found != physicals.end(), ACL_ERROR_RT_PARAM_INVALID, "the handle is unknown");
  auto* begin = static_cast<char*>(pointer);
  sim::Block there{};
  SIM_REQUIRE(in_a_range(begin, size), ACL_ERROR_RT_PARAM_INVALID, "%p and %zu bytes are not a reserved range", pointer, size);
  SIM_REQUIRE(offset + size <= found->second->size, ACL_ERROR_RT_PARAM_INVALID, "more than the handle's %zu bytes",
              found->second->size);
  SIM_REQUIRE(!sim::find_block(pointer, &there), ACL_ERROR_RT_PARAM_INVALID, "%p is mapped already", pointer);
  void* mapped = mmap(pointer, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, found->second->file, static_cast<off_t>(offset));
  SIM_REQUIRE(mapped != MAP_FAILED, ACL_ERROR_RT_PARAM_INVALID, "%p is not at a page's start", pointer);
  sim::add_block({begin, size, sim::Where::device, found->second->device, true});
  return ACL_SUCCESS;
}

aclError aclrtUnmapMem(void* pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  sim::Block block{};
  const bool known = in_a_range(static_cast<char*>(pointer), 1) && sim::remove_block(pointer, sim::Where::device, true, &block);
  SIM_REQUIRE(known, ACL_ERROR_RT_PARAM_INVALID, "%p is not where something is mapped", pointer);
  if (sim::shapes_only()) sim::forget_content(block.begin, block.size);
  mmap(pointer, block.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return ACL_SUCCESS;
}
