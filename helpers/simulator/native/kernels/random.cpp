#include "random.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <mutex>

namespace npu_sim {
namespace {

// torch_npu moves the offset by this much for a random kernel, and wants multiples of four
// (NPUGeneratorImpl::philox_engine_inputs rounds up to them).
constexpr uint64_t kOffsetPerCall = 12;

// splitmix64's finalizer (public domain, https://prng.di.unimi.it/splitmix64.c): near seeds, far streams.
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

at::Generator generator_for_call(const std::optional<at::Generator>& npu_generator, c10::Device device) {
  at::Generator npu = npu_generator.has_value() && npu_generator->defined()
      ? *npu_generator : at::globalContext().defaultGenerator(device);
  TORCH_CHECK(npu.device().type() == at::kPrivateUse1, "Expected a 'npu' device type for generator but found '",
              npu.device(), "'");
  std::lock_guard<std::mutex> lock(npu.mutex());
  const uint64_t offset = npu.get_offset();
  const uint64_t seed = mixed(npu.current_seed() ^ mixed(offset));
  npu.set_offset(offset + kOffsetPerCall);
  return at::detail::createCPUGenerator(seed);
}

}  // namespace npu_sim
