#include "traits.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <fstream>
#include <sstream>
#include <unordered_map>

namespace npu_sim {
namespace {

using Traits = std::unordered_map<std::string, std::unordered_map<std::string, std::vector<std::string>>>;

Traits read_traits() {
  Traits traits;
  for (const auto& line : lines_beside_libraries("traits.txt")) {
    std::istringstream words(line);
    std::string trait;
    words >> trait;
    for (std::string word; words >> word;) {
      std::istringstream parts(word.substr(word.find('=') == std::string::npos ? word.size() : word.find('=') + 1));
      auto& arguments = traits[trait][word.substr(0, word.find('='))];
      for (std::string argument; std::getline(parts, argument, ',');) {
        arguments.push_back(argument);
      }
    }
  }
  return traits;
}

}  // namespace

std::string beside_libraries(const std::string& name) {
  Dl_info here{};
  TORCH_CHECK(dladdr(reinterpret_cast<void*>(&beside_libraries), &here) != 0 && here.dli_fname != nullptr,
              "the simulator does not find its own library");
  const std::string library = here.dli_fname;
  const auto folder = library.substr(0, library.rfind('/'));
  return folder.substr(0, folder.rfind('/') + 1) + name;
}

std::vector<std::string> lines_beside_libraries(const std::string& name) {
  std::ifstream file(beside_libraries(name));
  TORCH_CHECK(file.good(), "the simulator does not find ", beside_libraries(name), "; build it again");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') {
      lines.push_back(line);
    }
  }
  return lines;
}

const std::vector<std::string>* find_trait(const char* trait, const std::string& op) {
  static const Traits traits = read_traits();
  const auto& operators = traits.at(trait);
  const auto found = operators.find(op);
  return found == operators.end() ? nullptr : &found->second;
}

}  // namespace npu_sim
