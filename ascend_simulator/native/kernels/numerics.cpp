#include "numerics.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "device_memory.h"
#include "traits.h"

namespace npu_sim {
namespace {

constexpr const char* kVariable = "ASCEND_WORKBOOK_SIM_NUMERICS";
bool ascend = false;

// How the matrix unit takes float32 inputs (aclnnMm, cubeMathType), by switches of torch_npu at the moment of the call.
enum class CubeMath { as_given, hf32, float16 };

// torch_npu keeps these options in a registry that it does not export (torch_npu/csrc/core/npu/register), and hands
// them to CANN only when an operator takes the aclop road. torch_npu._C._npu_getOption is the one way in, so they are
// read through Python, whose functions are found in the process: this library does not link to it.
template <typename Function>
Function symbol_of_python(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

struct Python {
  int (*is_running)() = symbol_of_python<int (*)()>("Py_IsInitialized");
  int (*lock)() = symbol_of_python<int (*)()>("PyGILState_Ensure");
  void (*unlock)(int) = symbol_of_python<void (*)(int)>("PyGILState_Release");
  void* (*import)(const char*) = symbol_of_python<void* (*)(const char*)>("PyImport_ImportModule");
  void* (*call)(void*, const char*, const char*, ...) =
      symbol_of_python<void* (*)(void*, const char*, const char*, ...)>("PyObject_CallMethod");
  const char* (*text)(void*) = symbol_of_python<const char* (*)(void*)>("PyBytes_AsString");
  void (*release)(void*) = symbol_of_python<void (*)(void*)>("Py_DecRef");
  void (*clear_error)() = symbol_of_python<void (*)()>("PyErr_Clear");
  void* none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
};

std::string ask(const Python& python, const char* option) {
  std::string answer;
  void* module = python.import("torch_npu._C");
  void* value = module == nullptr ? nullptr : python.call(module, "_npu_getOption", "s", option);
  const bool known = value != nullptr;
  if (known && value != python.none) {
    answer = python.text(value);
  }
  if (known) python.release(value);
  if (module != nullptr) python.release(module);
  if (!known) python.clear_error();
  TORCH_CHECK(known, "the NPU simulator does not fit this torch_npu: torch_npu._C._npu_getOption(\"", option,
              "\") fails, which numerics=ascend needs");
  return answer;
}

// Empty where nobody has set the option, or where this process runs no Python.
std::string option(const char* name) {
  static const Python python;
  if (python.is_running == nullptr || python.is_running() == 0) {
    return "";
  }
  struct Lock {
    int state = python.lock();
    ~Lock() { python.unlock(state); }
  } lock;
  return ask(python, name);
}

// torch.npu.conv.allow_hf32: on unless it says "disable".
CubeMath convolution_math() { return option("ALLOW_CONV_HF32") == "disable" ? CubeMath::as_given : CubeMath::hf32; }

// torch.npu.matmul.cube_math_type where set, else allow_hf32: off unless it says "enable".
CubeMath matmul_math() {
  const std::string type = option("CUBE_MATH_TYPE");
  if (!type.empty()) {
    // 0 KEEP_DTYPE, 1 ALLOW_FP32_DOWN_PRECISION (HF32 on an A2), 2 USE_FP16, 3 USE_HF32
    return type == "0" ? CubeMath::as_given : type == "2" ? CubeMath::float16 : CubeMath::hf32;
  }
  return option("ALLOW_MATMUL_HF32") == "enable" ? CubeMath::hf32 : CubeMath::as_given;
}

// Each element of a float32 tensor rounded to HF32 in place, ties to even: 12 of 23 bits of mantissa go.
at::Tensor round_to_hf32(at::Tensor tensor) {
  auto* bits = reinterpret_cast<uint32_t*>(tensor.mutable_data_ptr<float>());
  constexpr uint32_t dropped = 12, exponent = 0x7f800000u;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if ((bits[i] & exponent) != exponent) {
      const uint32_t odd = (bits[i] >> dropped) & 1u;
      bits[i] = (bits[i] + ((1u << (dropped - 1)) - 1) + odd) & ~((1u << dropped) - 1);
    }
  }
  return tensor;
}

// The layout matters: a channels_last input takes another CPU kernel than a contiguous one.
at::Tensor rounded(const at::Tensor& tensor, CubeMath math) {
  if (math == CubeMath::float16) {
    return tensor.to(at::kHalf).to(at::kFloat);
  }
  const bool dense = tensor.is_non_overlapping_and_dense();
  auto copy = at::empty_strided(tensor.sizes(), dense ? tensor.strides() : tensor.contiguous().strides(),
                                tensor.options());
  return round_to_hf32(copy.copy_(tensor));
}

}  // namespace

void read_numerics() {
  const char* value = std::getenv(kVariable);
  const std::string asked = value == nullptr ? "" : value;
  TORCH_CHECK_VALUE(asked.empty() || asked == "cpu" || asked == "ascend", kVariable,
                    ": expected cpu or ascend, got \"", asked, "\"");
  TORCH_CHECK_VALUE(std::getenv("ASCEND_WORKBOOK_SIM_HF32") == nullptr,
                    "ASCEND_WORKBOOK_SIM_HF32 is no longer read: ", kVariable, "=ascend rounds to HF32");
  ascend = asked == "ascend";
  if (ascend) {
    std::fprintf(stderr, "NPU simulator: numerics=ascend: HF32 where torch_npu allows it\n");
  }
}

optional<MatrixUnit> matrix_unit_of(const c10::OperatorHandle& op) {
  // overloads "dtype", "dtype_out": half inputs and a float32 result, for which the CPU has no kernel
  const bool other_result = op.operator_name().overload_name.rfind("dtype", 0) == 0;
  for (const bool convolution : {false, true}) {
    const auto* places = find_trait(convolution ? "convolutions" : "products", op.operator_name().name);
    if (ascend && places != nullptr && !other_result) {
      MatrixUnit unit{convolution, {}};
      for (const auto& place : *places) {
        unit.inputs.push_back(std::stoul(place));
      }
      return unit;
    }
  }
  return nullopt;
}

void round_inputs(const MatrixUnit& unit, torch::jit::Stack* stack, size_t first) {
  const CubeMath math = unit.convolution ? convolution_math() : matmul_math();
  AllocateOnNpu host(false);  // the unit rounds what it reads; there is no copy in device memory
  for (const size_t input : unit.inputs) {
    auto& value = (*stack)[first + input];
    if (math != CubeMath::as_given && value.toTensor().defined() && value.toTensor().scalar_type() == at::kFloat) {
      value = rounded(value.toTensor(), math);
    }
  }
}

}  // namespace npu_sim

// "ascend" or "cpu".
extern "C" __attribute__((visibility("default"))) const char* npu_sim_numerics() {
  return npu_sim::ascend ? "ascend" : "cpu";
}
