// Python code that loads a folder of the simulator's as a package, under a name that nobody else has.
#pragma once

#include <string>

namespace sim {

inline std::string python_literal(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    result += c == '\\' || c == '\'' ? std::string("\\") + c : std::string(1, c);
  }
  return result + "'";
}

// Calls `function` of a module of the package `name`, which lies in `folder`. exec keeps __main__ clean.
inline std::string loading_code(const std::string& name, const std::string& folder, const std::string& module,
                                const std::string& function) {
  const std::string code =
      "import importlib.util, sys, threading\n"
      "name, folder = " + python_literal("_npu_sim_" + name) + ", " + python_literal(folder) + "\n"
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

}  // namespace sim
