#include "reads.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../shapes_only/contents.h"
#include "device_memory.h"
#include "lazy_host.h"
#include "python.h"
#include "traits.h"
#include "watchdog.h"

namespace npu_sim {
namespace {

constexpr size_t kErrorSize = 2048;
// 0: nothing is assumed here. 1: `assumed` is. 2: the program asks without end, `error` says where.
using Reader = int (*)(const char* op, const char* dtype, const char* sizes, const double* value, int sets_shape,
                       double* assumed, char* error, size_t error_size);
std::atomic<Reader> reader{nullptr};
thread_local int paused = 0;

std::string list_of(const std::vector<int64_t>& sizes) {
  std::string text = "[";
  for (const auto size : sizes) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

double assumed_share() {
  static const double share = [] {
    const char* text = std::getenv("ASCEND_WORKBOOK_SIM_ASSUME");
    const char* at = text == nullptr ? nullptr : std::strstr(text, "rows=");
    const double value = at == nullptr || (at != text && at[-1] != ';' && at[-1] != ' ') ? -1 : std::atof(at + 5);
    return value >= 0 && value <= 1 ? value : 0.5;
  }();
  return share;
}

}  // namespace

optional<double> note_read(const Read& read) {
  const Reader ask = reader.load();
  if (ask == nullptr || paused > 0) {
    return nullopt;
  }
  double assumed = 0;
  char error[kErrorSize] = "";
  const double* value = read.value ? &*read.value : nullptr;
  const int answer = ask(read.op.c_str(), at::toString(read.dtype), list_of(read.sizes).c_str(), value, read.sets_shape,
                         &assumed, error, sizeof error);
  TORCH_CHECK(answer != 2, error);
  return answer == 1 ? optional<double>(assumed) : nullopt;
}

int64_t assumed_rows(const std::string& op, const at::Tensor& values, int64_t most) {
  const auto told = note_read({op, values.scalar_type(), values.sizes().vec(), nullopt, true});
  const double share = told ? *told : assumed_share();
  const double rows = share > 1 ? share : std::round(share * static_cast<double>(most));
  const int64_t least = !told && assumed_share() > 0 && most > 0 ? 1 : 0;
  return std::clamp(static_cast<int64_t>(rows), least, most);
}

void start_shapes_only() {
  static const bool lazy = (install_cpu_allocator(), register_lazy_host(), take_watchdogs(), true);
  static_cast<void>(lazy);
  call_beside_libraries("shapes_only", "starting", "install");
}

}  // namespace npu_sim

extern "C" __attribute__((visibility("default"))) void npu_sim_set_reader(npu_sim::Reader function) {
  npu_sim::reader = function;
}

// While the count is above 0, this thread's reads are the simulator's own business: a checkpoint that is not written.
extern "C" __attribute__((visibility("default"))) void npu_sim_pause_reads(int change) { npu_sim::paused += change; }

// What memory holds: 0 known, 1 a stand-in, 2 nothing.
extern "C" __attribute__((visibility("default"))) int npu_sim_content(const void* begin, size_t bytes) {
  return static_cast<int>(sim::content_of(begin, bytes));
}

extern "C" __attribute__((visibility("default"))) void npu_sim_set_stand_in(const void* begin, size_t bytes) {
  sim::set_content(begin, bytes, sim::Content::stand_in);
}

extern "C" __attribute__((visibility("default"))) void npu_sim_set_hollow(const void* begin, size_t bytes) {
  sim::set_content(begin, bytes, sim::Content::hollow);
}

// Called once torch_npu is loaded (acl/init.cpp): a model may be built on the CPU before any device is used.
extern "C" __attribute__((visibility("default"))) int npu_sim_start_shapes_only() {
  try {
    npu_sim::start_shapes_only();
    return 0;
  } catch (const c10::Error& error) {
    std::fprintf(stderr, "NPU simulator: cannot start: %s\n", error.what_without_backtrace());
    return 1;
  }
}
