#include "python.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>

#include "traits.h"

namespace npu_sim {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    result += c == '\\' || c == '\'' ? std::string("\\") + c : std::string(1, c);
  }
  return result + "'";
}

// exec keeps __main__ clean.
std::string loading_code(const std::string& name, const std::string& folder, const std::string& module,
                         const std::string& function) {
  const std::string code =
      "import importlib.util, sys, threading\n"
      "name, folder = " + quoted("_npu_sim_" + name) + ", " + quoted(folder) + "\n"
      "with sys.__dict__.setdefault('_npu_sim_lock', threading.RLock()):\n"
      "    if name not in sys.modules:\n"
      "        spec = importlib.util.spec_from_file_location(\n"
      "            name, folder + '/__init__.py', submodule_search_locations=[folder])\n"
      "        sys.modules[name] = importlib.util.module_from_spec(spec)\n"
      "        spec.loader.exec_module(sys.modules[name])\n"
      "    importlib.import_module(name + '." + module + "')." + function + "()\n";
  std::string literal;
  for (const char c : code) {
    literal += c == '\n' ? std::string("\\n") : c == '\\' || c == '"' ? std::string("\\") + c : std::string(1, c);
  }
  return "exec(\"" + literal + "\", {})";
}

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
  const int code = python<int (*)(const char*)>("PyRun_SimpleString")(loading_code(name, folder, module, function).c_str());
  python<void (*)(int)>("PyGILState_Release")(state);
  TORCH_CHECK(code == 0, "the NPU simulator could not load ", folder, " (see above). Build it anew: ascend-workbook simulator build");
}

}  // namespace npu_sim
