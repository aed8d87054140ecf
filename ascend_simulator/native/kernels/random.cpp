#include "by_hand.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randperm.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <mutex>

#include "dtype_limits.h"

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

// As PyTorch's CPU kernel, with the mask drawn from the NPU's stream; the mask is a bool tensor, where torch_npu's own
// kernel packs eight elements to a byte.
std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p, std::optional<bool> train) {
  if (input.numel() == 0 || !train.value_or(true)) {
    return {input.clone(), at::ones_like(input, input.options().dtype(at::kBool))};
  }
  if (p > 0 && p < 1) {  // for 0 and 1 torch_npu asks CANN nothing (NativeDropoutKernelNpuOpApi.cpp)
    check_argument("aten::native_dropout", 0, input);
  }
  TORCH_CHECK_VALUE(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
  auto mask = at::empty_like(input, input.options().dtype(at::kBool)).bernoulli_(1 - p);
  return {input.mul(mask).mul_(p == 1 ? 0.0 : 1.0 / (1 - p)), mask};
}

at::Tensor randperm(int64_t n, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                    std::optional<at::Device> device, std::optional<bool> pin_memory) {
  return at::randperm(n, std::optional<at::Generator>(), dtype, layout, device, pin_memory);
}

at::Tensor& randperm_out(int64_t n, at::Tensor& out) {
  return at::randperm_out(out, n, std::optional<at::Generator>());
}

}  // namespace

void register_random(torch::Library& aten) {
  aten.impl("native_dropout", TORCH_FN(native_dropout));
  aten.impl("randperm", TORCH_FN(randperm));
  aten.impl("randperm.out", TORCH_FN(randperm_out));
}

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
