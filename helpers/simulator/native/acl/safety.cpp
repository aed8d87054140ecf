#include "safety.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_simulated(const std::string& root) {
  std::ifstream file(root + "/version.cfg");
  for (std::string line; std::getline(file, line);) {
    if (line == "simulated=true") return true;
  }
  return false;
}

bool is_real(const std::string& path) { return !path.empty() && access(path.c_str(), F_OK) == 0 && !is_simulated(path); }

}  // namespace

namespace sim {

std::string real_cann(const std::string& libraries) {
  if (variable("ASCEND_WORKBOOK_SIM_FORCE") == "1") return "";
  const std::string told = variable("ASCEND_HOME_PATH");
  if (told[0] == '/' && is_real(told)) return told;
  std::ifstream signs(libraries + "/../real_signs.txt");
  for (std::string sign; std::getline(signs, sign);) {
    if (sign.rfind("~/", 0) == 0) sign = variable("HOME") + sign.substr(1);
    if (is_real(sign)) return sign;
  }
  return "";
}

}  // namespace sim
