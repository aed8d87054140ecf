#include "by_hand.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randperm.h>
#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

#include "dtype_limits.h"
#include "queue_order.h"

namespace npu_sim {
namespace {

// torch_npu moves the offset by this much for a random kernel, and wants multiples of four
// (NPUGeneratorImpl::philox_engine_inputs rounds up to them).
constexpr uint64_t kOffsetPerCall = 12;

// at_npu::detail::getDefaultNPUGenerator(DeviceIndex): torch's own way to it, the accelerator's hooks, leads nowhere in
// older releases.
const at::Generator& default_generator(c10::Device device) {
  static const auto of_torch_npu = reinterpret_cast<const at::Generator& (*)(c10::DeviceIndex)>(
      torch_npu_symbol("_ZN6at_npu6detail22getDefaultNPUGeneratorEa"));
  return of_torch_npu(device.index());
}

// splitmix64's finalizer (public domain, https://prng.di.unimi.it/splitmix64.c): near seeds, far streams.
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// As PyTorch's CPU kernel, with the mask drawn from the NPU's stream; the mask is a bool tensor, where torch_npu's own
// kernel packs eight elements to a byte.
std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p, optional<bool> train) {
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

at::Tensor randperm(int64_t n, optional<at::ScalarType> dtype, optional<at::Layout> layout,
                    optional<at::Device> device, optional<bool> pin_memory) {
  return at::randperm(n, optional<at::Generator>(), dtype, layout, device, pin_memory);
}

at::Tensor& randperm_out(int64_t n, at::Tensor& out) {
  return at::randperm_out(out, n, optional<at::Generator>());
}

}  // namespace

void register_random(torch::Library& aten) {
  aten.impl("native_dropout", TORCH_FN(native_dropout));
  aten.impl("randperm", TORCH_FN(randperm));
  aten.impl("randperm.out", TORCH_FN(randperm_out));
}

at::Generator generator_for_call(const optional<at::Generator>& npu_generator, c10::Device device) {
  at::Generator npu = npu_generator.has_value() && npu_generator->defined()
      ? *npu_generator : default_generator(device);
  TORCH_CHECK(npu.device().type() == at::kPrivateUse1, "Expected a 'npu' device type for generator but found '",
              npu.device(), "'");
  std::lock_guard<std::mutex> lock(npu.mutex());
  const uint64_t offset = npu.get_offset();
  const uint64_t seed = mixed(npu.current_seed() ^ mixed(offset));
  npu.set_offset(offset + kOffsetPerCall);
  return at::detail::createCPUGenerator(seed);
}

}  // namespace npu_sim
