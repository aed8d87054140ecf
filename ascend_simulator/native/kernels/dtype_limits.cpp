#include "dtype_limits.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <sstream>
#include <unordered_map>

#include "cann_error.h"
#include "traits.h"

namespace npu_sim {
namespace {

using at::ScalarType;

constexpr uint64_t bit(ScalarType type) { return uint64_t{1} << static_cast<unsigned>(type); }

struct Named {
  const char* name;   // in dtypes.txt
  const char* acl;    // in CANN's messages
  ScalarType type;
};

// In the order of CANN's own lists.
constexpr Named kTypes[] = {
    {"float16", "DT_FLOAT16", ScalarType::Half},           {"float32", "DT_FLOAT", ScalarType::Float},
    {"bfloat16", "DT_BFLOAT16", ScalarType::BFloat16},     {"float64", "DT_DOUBLE", ScalarType::Double},
    {"int8", "DT_INT8", ScalarType::Char},                 {"uint8", "DT_UINT8", ScalarType::Byte},
    {"int16", "DT_INT16", ScalarType::Short},              {"int32", "DT_INT32", ScalarType::Int},
    {"int64", "DT_INT64", ScalarType::Long},               {"uint16", "DT_UINT16", kUInt16},
    {"uint32", "DT_UINT32", kUInt32},           {"uint64", "DT_UINT64", kUInt64},
    {"bool", "DT_BOOL", ScalarType::Bool},                 {"complex32", "DT_COMPLEX32", ScalarType::ComplexHalf},
    {"complex64", "DT_COMPLEX64", ScalarType::ComplexFloat},
    {"complex128", "DT_COMPLEX128", ScalarType::ComplexDouble},
    {"float8_e5m2", "DT_FLOAT8_E5M2", ScalarType::Float8_e5m2},
    {"float8_e4m3fn", "DT_FLOAT8_E4M3FN", ScalarType::Float8_e4m3fn},
    {"float8_e8m0fnu", "DT_FLOAT8_E8M0", kFloat8E8M0}};

uint64_t mask_of(const std::string& list);

uint64_t bits_of(const std::string& name) {
  for (const auto& [shown, acl, type] : kTypes) {
    if (name == shown) {
      return bit(type);
    }
  }
  static const std::unordered_map<std::string, const char*> groups = {{"float", "float16,float32,bfloat16"},
                                                                      {"int", "int8,uint8,int16,int32,int64"},
                                                                      {"uint", "uint16,uint32,uint64"},
                                                                      {"complex", "complex64,complex128"}};
  const auto group = groups.find(name);
  TORCH_CHECK(group != groups.end(), "dtypes.txt: unknown data type ", name);
  return mask_of(group->second);
}

uint64_t mask_of(const std::string& list) {
  uint64_t mask = 0;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    mask |= bits_of(name);
  }
  return mask;
}

struct Row {
  std::string function, source, arguments;
};

auto& rows = *new std::unordered_map<std::string, std::shared_ptr<const Row>>;

void add_row(const std::string& line) {
  std::vector<std::string> fields;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 3) {
    end = line.find(" | ", begin);
    fields.push_back(line.substr(begin, end == std::string::npos ? end : end - begin));
  }
  TORCH_CHECK(fields.size() == 4, "dtypes.txt: expected OPERATORS | FUNCTION | SOURCE | ARGUMENTS, found: ", line);
  const auto row = std::make_shared<const Row>(Row{fields[1], fields[2], fields[3]});
  std::istringstream names(fields[0]);
  for (std::string name; names >> name;) {
    rows["aten::" + name] = row;
  }
}

std::string list_of(uint64_t accepted) {
  std::string list;
  for (const auto& [shown, acl, type] : kTypes) {
    if ((accepted & bit(type)) != 0) {
      list += std::string(acl) + ",";
    }
  }
  return list;
}

std::string acl_name(ScalarType type) {
  for (const auto& [shown, acl, known] : kTypes) {
    if (known == type) {
      return acl;
    }
  }
  return c10::str("DT_", type);
}

// The type to use instead; empty where none keeps the values.
std::string other_type(uint64_t accepted, ScalarType type) {
  constexpr Named kReal = {"torch.float32", "", ScalarType::Float};
  constexpr Named kWhole = {"torch.int64", "", ScalarType::Long}, kShort = {"torch.int32", "", ScalarType::Int};
  const bool whole = at::isIntegralType(type, true);
  for (const auto& choice : whole ? std::vector<Named>{kWhole, kShort, kReal} : std::vector<Named>{kReal, kWhole}) {
    if ((accepted & bit(choice.type)) != 0 && !at::isComplexType(type)) {
      return choice.name;
    }
  }
  return "";
}

// The words of any operator, of a copy, and of an operator on lists.
bool read_special_word(DtypeLimits& limits, const std::string& name, const std::string& value) {
  if (name == "dims") {
    limits.dims = std::stoll(value);
  } else if (name == "result") {
    limits.result = mask_of(value);
  } else if (name == "checked") {
    TORCH_CHECK(value == "within_npu", "dtypes.txt: unknown word checked=", value);
    limits.between_devices = true;
  } else if (name == "plain") {
    limits.plain = value;
  } else if (name == "route") {
    limits.route = mask_of(value);
  } else if (name == "code") {
    limits.code = value + " OPS invalid type";
  } else if (name == "says") {
    limits.says = value;
    std::replace(limits.says.begin(), limits.says.end(), '_', ' ');
  } else {
    return false;
  }
  return true;
}

auto& unknown_mutex = *new std::mutex;
auto& unknown = *new std::string;

std::string by_documentation(const DtypeLimits& limits) {
  const bool address = limits.source.rfind("https://", 0) == 0;
  return "by its documentation (" + (address ? limits.source : "https://gitcode.com/" + limits.source) + ")";
}

[[noreturn]] void refuse_type(const DtypeLimits& limits, const std::string& op, const std::string& tensor,
                              at::ScalarType type, uint64_t accepted, const std::string& verb) {
  const auto other = other_type(accepted, type);
  refuse_as_cann(op.substr(op.find("::") + 2), limits.function,
                 c10::str("Tensor ", tensor, " not implemented for ", acl_name(type),
                          ", should be in dtype support list [", list_of(accepted), "]."),
                 c10::str(op, " does not ", verb, " ", type, " on a real NPU (Atlas A2), ", by_documentation(limits),
                          other.empty() ? "" : "; use " + other));
}

auto& set_aside = *new std::set<std::string>;

// A line that was read from the documents of another release: of this one's operator nothing is known then, and said so.
void set_line_aside(const std::string& op, const std::string& argument) {
  const std::lock_guard<std::mutex> lock(unknown_mutex);
  set_aside.insert(op + " has no argument " + argument);
}

}  // namespace

void read_dtype_limits() {
  for (const auto& line : lines_beside_libraries("dtypes.txt")) {
    add_row(line);
  }
}

bool has_line(const std::string& op) { return rows.count(op) > 0; }

std::shared_ptr<const DtypeLimits> dtype_limits(const c10::OperatorHandle& op) {
  const auto found = rows.find(c10::toString(op.operator_name()));
  if (found == rows.end()) {
    return nullptr;
  }
  const Row& row = *found->second;
  auto limits = std::make_shared<DtypeLimits>();
  limits->function = row.function;
  limits->source = row.source;
  limits->accepted.resize(op.schema().arguments().size());
  std::istringstream arguments(row.arguments);
  for (std::string word; arguments >> word;) {
    if (word == "any") {
      continue;
    }
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals), value = word.substr(equals + 1);
    if (read_special_word(*limits, name, value)) {
      continue;
    }
    const auto index = op.schema().argumentIndexWithName(name);
    if (!index) {
      set_line_aside(c10::toString(op.operator_name()), name);
      return nullptr;
    }
    limits->accepted[*index] = mask_of(value);
  }
  return limits;
}

void refuse_lacking(const DtypeLimits* limits, const std::string& op, const c10::Error& error) {
  static const std::string lacks = "not implemented for '";
  const std::string text = error.what_without_backtrace();
  const size_t at = text.find(lacks);
  if (at == std::string::npos) {
    return;
  }
  const size_t begin = at + lacks.size();
  const std::string type = text.substr(begin, text.find('\'', begin) - begin);
  const std::string known = limits == nullptr ? "whether a real NPU does is not known here: no public list of its types was found"
                                              : "a real NPU may: its types are those of " + limits->source;
  TORCH_CHECK_NOT_IMPLEMENTED(false, op, ": [simulated NPU] it does not compute ", type, " here; ", known);
}

void note_unknown(const std::string& op) {
  const std::lock_guard<std::mutex> lock(unknown_mutex);
  unknown += op + "\n";
}

const char* unknown_in_use() {
  static thread_local std::string copy;
  const std::lock_guard<std::mutex> lock(unknown_mutex);
  copy = unknown;
  return copy.c_str();
}

const char* lines_set_aside() {
  static thread_local std::string copy;
  const std::lock_guard<std::mutex> lock(unknown_mutex);
  copy.clear();
  for (const auto& line : set_aside) {
    copy += line + "\n";
  }
  return copy.c_str();
}

void refuse_tensor(const DtypeLimits& limits, const std::string& op, const std::string& argument, size_t index,
                   const at::Tensor& tensor) {
  const uint64_t accepted = limits.accepted[index];
  if ((accepted & bit(tensor.scalar_type())) == 0) {
    refuse_type(limits, op, argument, tensor.scalar_type(), accepted, "take");
  }
  refuse_as_cann(op.substr(op.find("::") + 2), limits.function,
                 c10::str("The ", argument, " tensor cannot be larger than ", limits.dims, " dimensions."),
                 c10::str(op, " takes at most ", limits.dims, " dimensions on a real NPU (Atlas A2), ",
                          by_documentation(limits)));
}

void check_argument(const char* op, size_t index, const at::Tensor& tensor) {
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(op, "");
  const auto limits = dtype_limits(handle);
  if (limits && tensor.device().type() == at::kPrivateUse1 && !takes(*limits, index, tensor)) {
    refuse_tensor(*limits, op, handle.schema().arguments()[index].name(), index, tensor);
  }
}

void refuse_result(const DtypeLimits& limits, const std::string& op, at::ScalarType type) {
  refuse_type(limits, op, "out", type, limits.result, "give");
}

}  // namespace npu_sim
