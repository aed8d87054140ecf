#include "location.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>

namespace npu_sim {

std::string beside_libraries(const std::string& name) {
  Dl_info here{};
  TORCH_CHECK(dladdr(reinterpret_cast<void*>(&beside_libraries), &here) != 0 && here.dli_fname != nullptr,
              "the simulator does not find its own library");
  const std::string library = here.dli_fname;
  const auto folder = library.substr(0, library.rfind('/'));
  return folder.substr(0, folder.rfind('/') + 1) + name;
}

}  // namespace npu_sim
