#include "python.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>

#include "../python/loading.h"
#include "traits.h"

namespace npu_sim {
namespace {

template <typename Function>
Function python(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

void call_beside_libraries(const std::string& name, const std::string& module, const std::string& function) {
  const auto initialised = python<int (*)()>("Py_IsInitialized");
  TORCH_CHECK_NOT_IMPLEMENTED(initialised != nullptr && initialised() != 0, "the NPU simulator needs a Python process for its ",
                              name);
  const std::string folder = beside_libraries(name);
  const auto state = python<int (*)()>("PyGILState_Ensure")();
  const int code = python<int (*)(const char*)>("PyRun_SimpleString")(sim::loading_code(name, folder, module, function).c_str());
  python<void (*)(int)>("PyGILState_Release")(state);
  TORCH_CHECK(code == 0, "the NPU simulator could not load ", folder, " (see above). Build it anew: ascend-workbook simulator build");
}

}  // namespace npu_sim
