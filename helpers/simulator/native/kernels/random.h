// The NPU's random stream: seed and offset live in torch_npu's generator, numbers come from the CPU's engine.
#pragma once

#include <ATen/core/Generator.h>
#include <torch/library.h>

#include <optional>

namespace npu_sim {

// A CPU generator for one call, seeded by the NPU generator's seed and offset; moves that offset on.
at::Generator generator_for_call(const std::optional<at::Generator>& npu_generator, c10::Device device);

// Random operators whose schema has no generator to pass.
void register_random(torch::Library& aten);

}  // namespace npu_sim
