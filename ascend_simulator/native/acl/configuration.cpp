// aclInit's configuration: a JSON file, which has to be there and to be well formed (https://www.hiascend.com/document,
// aclInit). Of its parts the default device alone has an effect here: {"defaultDevice": {"default_device": "0"}}.
#include "configuration.h"

#include <sys/stat.h>

#include <cctype>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

namespace {

constexpr size_t kDeepest = 200;

// A reader of JSON that keeps, of the outermost object, each key with the text of its value.
class Reader {
 public:
  explicit Reader(const std::string& text) : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {
    if (text.rfind("\xEF\xBB\xBF", 0) == 0) at_ += 3;
  }

  // Whether the text is one object, and nothing else.
  bool read_object(std::map<std::string, std::string>* parts) {
    skip_blanks();
    if (at_ == end_ || *at_ != '{' || !read_members(parts, 0)) return false;
    skip_blanks();
    return at_ == end_;
  }

  // Where reading ended: the line, from 1.
  size_t line() const {
    size_t lines = 1;
    for (const char* each = begin_; each < at_; ++each) lines += *each == '\n';
    return lines;
  }

 private:
  void skip_blanks() {
    while (at_ < end_ && std::strchr(" \t\r\n", *at_) != nullptr && *at_ != '\0') ++at_;
  }

  bool take(char wanted) {
    skip_blanks();
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  bool read_members(std::map<std::string, std::string>* parts, size_t depth) {
    ++at_;
    if (take('}')) return true;
    do {
      skip_blanks();
      std::string key;
      if (!read_string(&key) || !take(':')) return false;
      skip_blanks();
      const char* from = at_;
      if (!read_value(depth + 1)) return false;
      if (parts != nullptr) (*parts)[key] = std::string(from, at_);
    } while (take(','));
    return take('}');
  }

  bool read_items(size_t depth) {
    ++at_;
    if (take(']')) return true;
    do {
      if (!read_value(depth + 1)) return false;
    } while (take(','));
    return take(']');
  }

  bool read_value(size_t depth) {
    skip_blanks();
    if (at_ == end_ || depth > kDeepest) return false;
    if (*at_ == '{') return read_members(nullptr, depth);
    if (*at_ == '[') return read_items(depth);
    if (*at_ == '"') return read_string(nullptr);
    return read_word("true") || read_word("false") || read_word("null") || read_number();
  }

  bool read_word(const char* word) {
    const size_t length = std::strlen(word);
    if (static_cast<size_t>(end_ - at_) < length || std::strncmp(at_, word, length) != 0) return false;
    at_ += length;
    return true;
  }

  bool is_digit() const { return at_ < end_ && std::isdigit(static_cast<unsigned char>(*at_)) != 0; }

  bool read_digits() {
    if (!is_digit()) return false;
    while (is_digit()) ++at_;
    return true;
  }

  bool read_number() {
    if (*at_ == '-') ++at_;
    if (at_ < end_ && *at_ == '0') {
      ++at_;
    } else if (!read_digits()) {
      return false;
    }
    if (at_ < end_ && *at_ == '.' && (++at_, !read_digits())) return false;
    if (at_ == end_ || (*at_ != 'e' && *at_ != 'E')) return true;
    ++at_;
    if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    return read_digits();
  }

  bool read_escape() {
    if (at_ == end_) return false;
    const char escaped = *at_++;
    if (escaped != 'u') return escaped != '\0' && std::strchr("\"\\/bfnrt", escaped) != nullptr;
    for (int digit = 0; digit < 4; ++digit, ++at_) {
      if (at_ == end_ || std::isxdigit(static_cast<unsigned char>(*at_)) == 0) return false;
    }
    return true;
  }

  // Keeps a key as it is written, with its escapes.
  bool read_string(std::string* text) {
    if (at_ == end_ || *at_ != '"') return false;
    const char* from = ++at_;
    while (at_ < end_ && *at_ != '"') {
      if (static_cast<unsigned char>(*at_) < 0x20) return false;
      if (*at_++ == '\\' && !read_escape()) return false;
    }
    if (at_ == end_) return false;
    if (text != nullptr) *text = std::string(from, at_);
    ++at_;
    return true;
  }

  const char *begin_, *at_, *end_;
};

using Parts = std::map<std::string, std::string>;

bool read_parts(const std::string& text, Parts* parts) { return Reader(text).read_object(parts); }

// The number that "defaultDevice" names, as a text or a number; -1 where it is none.
int device_in(const std::string& part) {
  Parts inner;
  if (!read_parts(part, &inner)) return -1;
  std::string named = inner["default_device"];
  if (named.size() >= 2 && named.front() == '"') named = named.substr(1, named.size() - 2);
  const bool number = !named.empty() && named.size() <= 4 && named.find_first_not_of("0123456789") == std::string::npos;
  return number ? std::stoi(named) : -1;
}

// torch_npu's own files ask for a dump of what a fault leaves; there is none here.
bool asks_at_faults_alone(const std::string& dump) {
  Parts inner;
  return read_parts(dump, &inner) && inner.size() == 1 && inner["dump_scene"] == "\"lite_exception\"";
}

void name_the_idle(const std::string& path, const Parts& parts) {
  std::string idle;
  for (const auto& [key, part] : parts) {
    if (key == "defaultDevice" || (key == "dump" && asks_at_faults_alone(part))) continue;
    idle += (idle.empty() ? "" : ", ") + key;
  }
  if (idle.empty()) return;
  std::fprintf(stderr, "[simulated NPU] %s: these parts have no effect here: %s\n", path.c_str(), idle.c_str());
}

aclError read_file(const char* function, const std::string& path, sim::Configuration* read) {
  struct stat found {};
  const bool regular = stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
  std::ifstream file(path);
  if (!regular || !file) return sim::fail(ACL_ERROR_INVALID_FILE, function, "%s cannot be read as a file", path.c_str());
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Reader reader(text);
  Parts parts;
  if (!reader.read_object(&parts)) {
    return sim::fail(ACL_ERROR_PARSE_FILE, function, "%s, line %zu: this is no object in JSON", path.c_str(), reader.line());
  }
  name_the_idle(path, parts);
  const auto named = parts.find("defaultDevice");
  if (named == parts.end()) return ACL_SUCCESS;
  const int device = device_in(named->second);
  if (sim::valid_device(device)) {
    read->default_device = device;
  } else if (device != 0) {  // with no device at all the first call that needs one says so
    std::fprintf(stderr, "[simulated NPU] %s: defaultDevice names no device that is here\n", path.c_str());
  }
  return ACL_SUCCESS;
}

}  // namespace

namespace sim {

aclError read_configuration(const char* function, const std::string& path, Configuration* read) {
  try {
    return read_file(function, path, read);
  } catch (const std::exception& error) {  // a file that ends while it is read, or is larger than memory
    return fail(ACL_ERROR_INVALID_FILE, function, "%s: %s", path.c_str(), error.what());
  }
}

}  // namespace sim
