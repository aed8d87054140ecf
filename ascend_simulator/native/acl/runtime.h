// What the parts of the stand-in runtime share: how errors are reported, devices, and who owns which memory.
//
// Signatures, constants and error codes come from the headers that ship inside the installed torch_npu wheel
// (torch_npu/include/third_party/acl/inc), read at build time: the compiler refuses a function whose signature
// differs. The meaning of each function is that of the public AscendCL reference
// (https://www.hiascend.com/document, "AscendCL API", chapters "Runtime management" and "Memory management").
#pragma once

#include <acl/acl.h>

#include <cstddef>
#include <cstdint>
#include <string>

#define SIM_EXPORT extern "C" __attribute__((visibility("default")))

// Shared with libhccl.so, by C++ name: no function of CANN.
#define SIM_SHARED __attribute__((visibility("default")))

namespace sim {

// Sets this thread's recent error message (aclGetRecentErrMsg) to "[simulated NPU] FUNCTION: text"; returns `code`.
SIM_SHARED aclError fail(aclError code, const char* function, const char* format, ...) __attribute__((format(printf, 3, 4)));
// What a real CANN has and this one lacks: 200001 with a message that says so. Not 207000 ("feature not supported"),
// which torch_npu's NPU_CHECK_ERROR turns into a warning and goes on (torch_npu/csrc/core/npu/NPUException.h).
SIM_SHARED aclError unsupported(const char* function);
// The failure of an earlier task of torch_npu's queue, once there was one: 507000 and that task's own message. What
// waits for a device gives it back, as synchronizing with a real device does after an error of a task.
SIM_SHARED aclError check_tasks();
// A success that needs no work here. The reason is for the reader, and for the test that looks for silent successes.
inline aclError nothing_to_do(const char* /*reason*/) { return ACL_SUCCESS; }
// The answer of a function that tells `value` through its argument `name`.
template <class Target, class Value>
aclError tell(const char* function, const char* name, Target* target, Value value) {
  if (target == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, function, "%s is null", name);
  *target = static_cast<Target>(value);
  return ACL_SUCCESS;
}

int device_count();          // as many as ASCEND_WORKBOOK_SIM_DEVICES and ASCEND_RT_VISIBLE_DEVICES leave
bool valid_device(int device);
SIM_SHARED int current_device();        // -1 where this thread has set none and there is no default
void set_default_device(int device);
size_t device_memory();      // bytes of each device

// A text in JSON.
std::string quoted(const std::string& text);

double now_ms();

enum class Where { host, device };
struct Block {
  char* begin;
  size_t size;
  Where where;
  int device;
  bool mapped = false;  // into a reserved range, to be unmapped and not freed
};
// The allocation that holds `pointer`; false for memory that this runtime did not give (pageable host memory).
bool find_block(const void* pointer, Block* found);
// Bytes from `pointer` to the end of its block and of the blocks that follow without a gap (mapped segments do).
size_t room_from(const void* pointer);
void add_block(const Block& block);
bool remove_block(const void* begin, Where where, bool mapped, Block* removed);
// Counts `size` bytes of the device's memory as taken, or fails with 207001 where they do not fit.
aclError charge(const char* function, int device, size_t size);
void discharge(int device, size_t size);

SIM_SHARED aclError check_stream(const char* function, aclrtStream stream);
int device_of_stream(aclrtStream stream);     // of the default stream: the thread's own
void forget_core_limits(aclrtStream stream);  // of a stream that ends

}  // namespace sim

#define SIM_FAIL(code, ...) return sim::fail(code, __func__, __VA_ARGS__)
#define SIM_REQUIRE(condition, code, ...) \
  do {                                    \
    if (!(condition)) SIM_FAIL(code, __VA_ARGS__); \
  } while (0)
#define SIM_CHECK_STREAM(stream) \
  if (aclError code = sim::check_stream(__func__, stream)) return code
#define SIM_UNSUPPORTED() return sim::unsupported(__func__)
