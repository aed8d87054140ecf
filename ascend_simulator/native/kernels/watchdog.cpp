#include "watchdog.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "../shapes_only/contents.h"

namespace npu_sim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kLibrary = "libtorch_npu.so";
constexpr const char* kLoop = "_ZN8c10d_npu16ProcessGroupHCCL8Watchdog7runLoopEv";
constexpr auto kSlice = std::chrono::milliseconds(5);   // in which a watchdog that missed its call looks again
constexpr auto kLimit = std::chrono::seconds(5);        // for one that is busy, or ends
constexpr auto kJump = std::chrono::seconds(2);         // more than the second for which a watchdog wants to wait

// One thread of torch_npu's that waits in Watchdog::runLoop.
struct Watchdog {
  uint64_t served = 0;     // the request for which it was last let go
  uint64_t looked = 0;     // and came back
  pthread_cond_t* waits_on = nullptr;
};

struct State {
  std::mutex mutex;
  std::condition_variable looked;
  std::vector<Watchdog*> all;
  uint64_t requests = 0, collectives = 0;
};
State& state = *new State;  // threads outlive static objects

// Registers this thread for as long as it lives.
struct Registered {
  Watchdog own;
  Registered() {
    std::lock_guard<std::mutex> lock(state.mutex);
    own.served = own.looked = state.requests;
    state.all.push_back(&own);
  }
  ~Registered() {
    std::lock_guard<std::mutex> lock(state.mutex);
    state.all.erase(std::find(state.all.begin(), state.all.end(), &own));
    state.looked.notify_all();
  }
};

const char* loop_begin = nullptr;
const char* loop_end = nullptr;
// How the wait of a condition variable is told to be over: by the clock of the wait, then by the caller's
// (bits/std_condition_variable.h, wait_until). Each looks ahead once.
thread_local bool steady_jumps = false, system_jumps = false;

using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*);

timespec slice_from_now() {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += std::chrono::nanoseconds(kSlice).count();
  until.tv_sec += until.tv_nsec / 1'000'000'000;
  until.tv_nsec %= 1'000'000'000;
  return until;
}

// In the place of pthread_cond_timedwait: a watchdog comes back at once when it is asked to look, and finds that its second
// is over. All other waits are as they were.
int wait_as_watchdog(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  const auto* caller = static_cast<const char*>(__builtin_return_address(0));
  if (caller < loop_begin || caller >= loop_end) {
    return pthread_cond_timedwait(condition, mutex, until);
  }
  static thread_local Registered registered;
  Watchdog& own = registered.own;
  {
    std::lock_guard<std::mutex> lock(state.mutex);
    own.looked = own.served;
    state.looked.notify_all();
    if (own.served < state.requests) {
      own.served = state.requests;
      steady_jumps = system_jumps = true;
      return ETIMEDOUT;
    }
    own.waits_on = condition;
  }
  const timespec slice = slice_from_now();
  const bool ends_first = until->tv_sec < slice.tv_sec || (until->tv_sec == slice.tv_sec && until->tv_nsec < slice.tv_nsec);
  const int code = pthread_cond_timedwait(condition, mutex, ends_first ? until : &slice);
  std::lock_guard<std::mutex> lock(state.mutex);
  own.waits_on = nullptr;
  if (own.served < state.requests) {
    own.served = state.requests;
    steady_jumps = system_jumps = true;
    return ETIMEDOUT;
  }
  return ends_first ? code : 0;  // 0: as if woken for nothing, so that the loop looks at its own clock
}

// In the place of a clock's now().
template <class SomeClock>
typename SomeClock::time_point jump_once(bool& jumps) {
  const auto ahead = jumps ? kJump : std::chrono::seconds(0);
  jumps = false;
  return SomeClock::now() + ahead;
}
Clock::time_point steady_now() { return jump_once<Clock>(steady_jumps); }
std::chrono::system_clock::time_point system_now() { return jump_once<std::chrono::system_clock>(system_jumps); }

struct Search {
  const char* symbol;
  void* replacement;
  int replaced = 0;
};

void replace_in(const dl_phdr_info& info, Search& search) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    }
  }
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  struct Table {
    const ElfW(Rela)* begin = nullptr;
    size_t bytes = 0;
  } tables[2];
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    switch (dynamic->d_tag) {
      case DT_SYMTAB: symbols = reinterpret_cast<const ElfW(Sym)*>(dynamic->d_un.d_ptr); break;
      case DT_STRTAB: names = reinterpret_cast<const char*>(dynamic->d_un.d_ptr); break;
      case DT_JMPREL: tables[0].begin = reinterpret_cast<const ElfW(Rela)*>(dynamic->d_un.d_ptr); break;
      case DT_PLTRELSZ: tables[0].bytes = dynamic->d_un.d_val; break;
      case DT_RELA: tables[1].begin = reinterpret_cast<const ElfW(Rela)*>(dynamic->d_un.d_ptr); break;
      case DT_RELASZ: tables[1].bytes = dynamic->d_un.d_val; break;
      default: break;
    }
  }
  const long page = sysconf(_SC_PAGESIZE);
  for (const Table& table : tables) {
    for (size_t i = 0; symbols != nullptr && names != nullptr && i < table.bytes / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Rela)& entry = table.begin[i];
      const auto number = ELF64_R_SYM(entry.r_info);
      if (number == 0 || std::strcmp(names + symbols[number].st_name, search.symbol) != 0) {
        continue;
      }
      auto* slot = reinterpret_cast<void**>(info.dlpi_addr + entry.r_offset);
      auto* start = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot) & ~static_cast<uintptr_t>(page - 1));
      if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0) {
        continue;
      }
      *slot = search.replacement;
      mprotect(start, page, PROT_READ);  // as the loader left it
      ++search.replaced;
    }
  }
}

// Sends torch_npu's calls of a function of another library to a function here.
bool replace(const char* symbol, void* replacement) {
  Search search{symbol, replacement};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        const char* base = std::strrchr(info->dlpi_name, '/');
        if (base != nullptr && std::strcmp(base + 1, kLibrary) == 0) {
          replace_in(*info, *static_cast<Search*>(data));
        }
        return 0;
      },
      &search);
  return search.replaced > 0;
}

bool find_loop() {
  void* library = dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD);
  void* loop = library == nullptr ? nullptr : dlsym(library, kLoop);
  Dl_info info{};
  const ElfW(Sym)* symbol = nullptr;
  if (loop == nullptr || dladdr1(loop, &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)), RTLD_DL_SYMENT) == 0) {
    return false;
  }
  loop_begin = static_cast<const char*>(loop);
  loop_end = loop_begin + (symbol == nullptr ? 0 : symbol->st_size);
  return loop_end > loop_begin;
}

}  // namespace

void take_watchdogs() {
  const bool found = find_loop() &&
                     replace("_ZNSt6chrono3_V212steady_clock3nowEv", reinterpret_cast<void*>(&steady_now)) &&
                     replace("_ZNSt6chrono3_V212system_clock3nowEv", reinterpret_cast<void*>(&system_now)) &&
                     replace("pthread_cond_timedwait", reinterpret_cast<void*>(&wait_as_watchdog));
  if (!found) {
    std::fprintf(stderr, "[simulated NPU] this torch_npu frees what collectives held by its own clock, once a second: the memory "
                         "of short steps may differ from run to run\n");
  }
}

void let_watchdogs_look() {
  const uint64_t called = sim::collectives_called();
  std::unique_lock<std::mutex> lock(state.mutex);
  if (called == state.collectives) {
    return;
  }
  state.collectives = called;
  const uint64_t request = ++state.requests;
  for (Watchdog* watchdog : state.all) {
    if (watchdog->waits_on != nullptr) {
      pthread_cond_broadcast(watchdog->waits_on);
    }
  }
  state.looked.wait_for(lock, kLimit, [&] {
    return std::all_of(state.all.begin(), state.all.end(), [&](const Watchdog* each) { return each->looked >= request; });
  });
}

}  // namespace npu_sim
