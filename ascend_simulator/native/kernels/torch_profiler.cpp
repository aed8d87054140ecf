#include "torch_profiler.h"

#include <c10/macros/Export.h>

#include <string>

#include "../recording/recording.h"

// Of torch/csrc/profiler/kineto_shim.h, which includes a header of libkineto's that torch does not ship.
namespace torch::autograd::profiler {
TORCH_API void addMetadataJson(const std::string& key, const std::string& value);
}

namespace npu_sim {
namespace {

void name_the_device() {
  torch::autograd::profiler::addMetadataJson("simulated_npu",
                                             "\"times are of PyTorch's CPU kernels on this host, not of an NPU\"");
}

}  // namespace

void name_device_in_traces() { sim::on_watch(&name_the_device); }

}  // namespace npu_sim
