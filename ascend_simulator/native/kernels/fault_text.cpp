#include "faults.h"

#include <charconv>
#include <fstream>
#include <map>
#include <sstream>

#include "traits.h"

namespace npu_sim {
namespace {

[[noreturn]] void malformed(const std::string& text, const std::string& expected) {
  TORCH_CHECK_VALUE(false, "ASCEND_WORKBOOK_SIM_FAULT: in \"", text, "\", expected ", expected,
                    "; for example aten::convolution@3:scale=1.01;_softmax@step=2,rank=0:noise=1e-3");
}

template <typename Number>
Number number(const std::string& text, const std::string& fault, const char* expected) {
  Number result{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size()) {
    malformed(fault, expected);
  }
  return result;
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// 3, 3-5 or *
Range read_range(const std::string& numbers, int64_t least, const std::string& fault, const char* expected) {
  Range range;
  if (numbers == "*") {
    range.first = least;
    return range;
  }
  const auto dash = numbers.find('-');
  range.first = number<int64_t>(numbers.substr(0, dash), fault, expected);
  range.last = dash == std::string::npos ? range.first : number<int64_t>(numbers.substr(dash + 1), fault, expected);
  if (range.first < least || range.last < range.first) {
    malformed(fault, expected);
  }
  return range;
}

void read_when(Fault& fault, const std::string& when) {
  std::stringstream parts(when);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto condition = trimmed(part);
    if (condition.rfind("step=", 0) == 0) {
      fault.steps = read_range(condition.substr(5), 1, fault.text, "steps as step=2 or step=2-4, counted from 1");
    } else if (condition.rfind("rank=", 0) == 0) {
      fault.ranks = read_range(condition.substr(5), 0, fault.text, "ranks as rank=0 or rank=0-1");
    } else {
      fault.calls = read_range(condition, 1, fault.text, "calls as 3, 3-5 or *, counted from 1; or step=, or rank=");
    }
  }
}

at::ScalarType read_dtype(const std::string& name, const std::string& fault) {
  static const std::map<std::string, at::ScalarType> types = {{"bfloat16", at::kBFloat16},
                                                              {"float16", at::kHalf},
                                                              {"float8_e4m3fn", at::kFloat8_e4m3fn},
                                                              {"float8_e5m2", at::kFloat8_e5m2}};
  const auto found = types.find(name);
  if (found == types.end()) {
    malformed(fault, "dtype=bfloat16, float16, float8_e4m3fn or float8_e5m2");
  }
  return found->second;
}

void read_kind(Fault& fault, const std::string& kind) {
  static const std::map<std::string, bool> wants_value = {
      {"scale", true}, {"add", true}, {"noise", true},  {"dtype", true}, {"delay", true},
      {"zero", false}, {"nan", false}, {"inf", false}, {"error", false}};
  const auto equals = kind.find('=');
  const bool has_value = equals != std::string::npos;
  fault.kind = kind.substr(0, equals);
  const auto known = wants_value.find(fault.kind);
  if (known == wants_value.end() || known->second != has_value) {
    malformed(fault.text,
              "a kind: scale=X, add=X, noise=X, zero, nan, inf, dtype=T, delay=MS or error");
  }
  if (fault.kind == "dtype") {
    fault.dtype = read_dtype(kind.substr(equals + 1), fault.text);
  } else if (has_value) {
    fault.value = number<double>(kind.substr(equals + 1), fault.text, "a number after =");
  }
  if (fault.kind == "delay" && fault.value < 0) {
    malformed(fault.text, "delay=MS, milliseconds from 0");
  }
}

std::shared_ptr<Fault> read_fault(const std::string& text) {
  auto fault = std::make_shared<Fault>();
  fault->text = text;
  const std::string body = text.rfind("aten::", 0) == 0 ? text.substr(6) : text;
  // the colon before the kind; a name may hold "::" of another namespace
  const auto colon = body.rfind(':');
  if (colon == std::string::npos || (colon > 0 && body[colon - 1] == ':')) {
    malformed(text, "OPERATOR[@WHEN]:KIND");
  }
  const auto left = body.substr(0, colon);
  const auto at = left.find('@');
  const auto name = trimmed(left.substr(0, at));
  if (name.empty()) {
    malformed(text, "an operator's name");
  }
  const auto* made_of = find_trait("faults", name);  // of the operators that reach the device for a name of the API
  fault->operators = made_of == nullptr ? std::vector<std::string>{name} : *made_of;
  if (at != std::string::npos) {
    read_when(*fault, left.substr(at + 1));
  }
  read_kind(*fault, trimmed(body.substr(colon + 1)));
  return fault;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// The path, where the value names a file; empty where it is the faults themselves.
std::string path_in(const std::string& value) {
  if (value[0] == '@') {
    return trimmed(value.substr(1));
  }
  for (const char* end : {".yaml", ".yml", ".json", ".txt"}) {
    if (ends_with(value, end)) {
      return value;
    }
  }
  return "";
}

// Without what YAML and JSON put around an entry: "- ", brackets, commas, quotes.
std::string bare(const std::string& line) {
  const auto begin = line.find_first_not_of(" \t\r\n[-\"'"), end = line.find_last_not_of(" \t\r\n],\"'");
  return begin == std::string::npos || end < begin ? "" : line.substr(begin, end - begin + 1);
}

// One fault a line: a JSON list on one line is broken where one string ends and the next begins.
std::string with_lines(std::string text) {
  for (auto at = text.find("\","); at != std::string::npos; at = text.find("\",", at + 2)) {
    text[at + 1] = '\n';
  }
  return text;
}

// All faults of the file in one text, between semicolons.
std::string read_file(const std::string& path) {
  std::ifstream file(path);
  TORCH_CHECK_VALUE(file.good(), "ASCEND_WORKBOOK_SIM_FAULT: the file ", path, " cannot be read");
  std::stringstream whole, result;
  whole << file.rdbuf();
  std::stringstream lines(with_lines(whole.str()));
  for (std::string line; std::getline(lines, line);) {
    if (trimmed(line).rfind('#', 0) != 0) {
      result << bare(line) << ';';
    }
  }
  return result.str();
}

}  // namespace

std::vector<std::shared_ptr<Fault>> read_fault_text(const std::string& given) {
  const auto value = trimmed(given);
  if (value.empty()) {
    return {};
  }
  const auto path = path_in(value);
  std::stringstream parts(path.empty() ? value : read_file(path));
  std::vector<std::shared_ptr<Fault>> faults;
  for (std::string part; std::getline(parts, part, ';');) {
    if (!trimmed(part).empty()) {
      faults.push_back(read_fault(trimmed(part)));
    }
  }
  if (faults.empty()) {
    malformed(value, "at least one fault, or the variable unset");
  }
  return faults;
}

}  // namespace npu_sim
