// What describes an operator's operands and attributes on the road by single-operator graphs.
#pragma once

#include <acl/acl.h>

#include <map>
#include <string>
#include <vector>

struct aclTensorDesc {
  aclDataType type;
  std::vector<int64_t> shape;
  aclFormat format;
};
struct aclDataBuffer {
  void* data;
  size_t size;
};
struct aclopAttr {
  std::map<std::string, std::string> texts;
};
