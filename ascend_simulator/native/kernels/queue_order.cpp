#include "queue_order.h"

#include <c10/core/Stream.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <sys/prctl.h>

#include "../recording/recording.h"
#include "../shapes_only/contents.h"
#include "watchdog.h"

namespace npu_sim {
namespace {

// What c10_npu::NPUStream looks like to a caller: one c10::Stream, and a destructor, so it is returned in memory.
struct NpuStream {
  c10::Stream stream;
  ~NpuStream() {}
};

// A kernel must not run on what a failed copy or collective left behind.
void check_tasks() {
  if (sim::check_earlier_tasks() != 0) TORCH_CHECK(false, recent_message());
}

constexpr unsigned long kPollingSlackNs = 2'000'000;
thread_local long own_slack_ns = 0;

}  // namespace

void* torch_npu_symbol(const char* name) {
  static void* const library = dlopen("libtorch_npu.so", RTLD_LAZY | RTLD_NOLOAD);
  void* const symbol = library == nullptr ? nullptr : dlsym(library, name);
  TORCH_CHECK(symbol != nullptr, "the NPU simulator does not fit this torch_npu: libtorch_npu.so has no ", name);
  return symbol;
}

const char* recent_message() {
  using Message = const char* (*)();
  static void* const library = dlopen("libascendcl.so", RTLD_LAZY | RTLD_NOLOAD);
  static const auto message = reinterpret_cast<Message>(dlsym(library, "aclGetRecentErrMsg"));
  return message();
}

void let_torch_npu_poll_slowly() {
  own_slack_ns = prctl(PR_GET_TIMERSLACK);
  if (own_slack_ns > 0) {
    prctl(PR_SET_TIMERSLACK, kPollingSlackNs);
  }
}

void* drain_queue(c10::Device device) {
  // c10_npu::getCurrentNPUStream(DeviceIndex); NPUStream::stream() const, which empties the queue before it
  // gives the raw stream away (torch_npu/csrc/core/npu/NPUStream.h)
  static const auto current_stream =
      reinterpret_cast<NpuStream (*)(c10::DeviceIndex)>(torch_npu_symbol("_ZN7c10_npu19getCurrentNPUStreamEa"));
  static const auto raw_stream =
      reinterpret_cast<void* (*)(const NpuStream*)>(torch_npu_symbol("_ZNK7c10_npu9NPUStream6streamEv"));
  const NpuStream stream = current_stream(device.index());
  void* const raw = raw_stream(&stream);
  if (own_slack_ns > 0) {
    prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(own_slack_ns));
    own_slack_ns = 0;
  }
  check_tasks();
  if (sim::shapes_only()) {
    let_watchdogs_look();
  }
  return raw;
}

void run_in_queue(const std::string& name, const std::function<int()>& work) {
  // at_npu::native::OpCommand::RunOpApiV2(string, PROC_FUNC, bool sync), torch_npu/csrc/framework/OpCommand.h
  using Run = void (*)(const std::string&, const std::function<int()>&, bool);
  static const auto run = reinterpret_cast<Run>(torch_npu_symbol(
      _GLIBCXX_USE_CXX11_ABI
          ? "_ZN6at_npu6native9OpCommand10RunOpApiV2ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKSt8functionIFivEEb"
          : "_ZN6at_npu6native9OpCommand10RunOpApiV2ERKSsRKSt8functionIFivEEb"));
  run(name, work, false);
}

}  // namespace npu_sim
