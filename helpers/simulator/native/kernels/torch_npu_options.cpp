#include "torch_npu_options.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <string>

namespace npu_sim {
namespace {

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

}  // namespace

CubeMath convolution_math() { return option("ALLOW_CONV_HF32") == "disable" ? CubeMath::as_given : CubeMath::hf32; }

CubeMath matmul_math() {
  const std::string type = option("CUBE_MATH_TYPE");
  if (!type.empty()) {
    // 0 KEEP_DTYPE, 1 ALLOW_FP32_DOWN_PRECISION (HF32 on an A2), 2 USE_FP16, 3 USE_HF32
    return type == "0" ? CubeMath::as_given : type == "2" ? CubeMath::float16 : CubeMath::hf32;
  }
  return option("ALLOW_MATMUL_HF32") == "enable" ? CubeMath::hf32 : CubeMath::as_given;
}

}  // namespace npu_sim
