// Descriptions of operands and attributes for the road by single-operator graphs (single_operators.cpp runs them).
#include "operators.h"

#include "runtime.h"

aclTensorDesc* aclCreateTensorDesc(aclDataType type, int count, const int64_t* shape, aclFormat format) {
  if (count < 0 || (count > 0 && shape == nullptr)) {
    sim::fail(ACL_ERROR_INVALID_PARAM, __func__, "%d dimensions at %p", count, static_cast<const void*>(shape));
    return nullptr;
  }
  return new aclTensorDesc{type, std::vector<int64_t>(shape, shape + count), format};
}

void aclDestroyTensorDesc(const aclTensorDesc* desc) { delete desc; }

// What the description says; for no description the values that the reference names for it.
aclDataType aclGetTensorDescType(const aclTensorDesc* desc) { return desc == nullptr ? ACL_DT_UNDEFINED : desc->type; }
aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) { return desc == nullptr ? ACL_FORMAT_UNDEFINED : desc->format; }
size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) { return desc == nullptr ? 0 : desc->shape.size(); }

aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* size) {
  SIM_REQUIRE(desc != nullptr && size != nullptr, ACL_ERROR_INVALID_PARAM, "a pointer is null");
  SIM_REQUIRE(index < desc->shape.size(), ACL_ERROR_INVALID_PARAM, "dimension %zu of %zu", index, desc->shape.size());
  *size = desc->shape[index];
  return ACL_SUCCESS;
}

// Names, layouts and attributes that the operators of single_operators.cpp do not read.
#define SIM_DESCRIBE(thing)                                                          \
  SIM_REQUIRE((thing) != nullptr, ACL_ERROR_INVALID_PARAM, "the description is null"); \
  return sim::nothing_to_do("no operator that can be run here reads it")

// An operand's name, which no operator that can be run here reads.
void aclSetTensorDescName(aclTensorDesc*, const char*) {}
aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat) { SIM_DESCRIBE(desc); }
aclError aclSetTensorShape(aclTensorDesc* desc, int, const int64_t*) { SIM_DESCRIBE(desc); }
aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType) { SIM_DESCRIBE(desc); }

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) { return new aclDataBuffer{data, size}; }

aclError aclDestroyDataBuffer(const aclDataBuffer* buffer) {
  SIM_REQUIRE(buffer != nullptr, ACL_ERROR_INVALID_PARAM, "the buffer is null");
  delete buffer;
  return ACL_SUCCESS;
}

aclopAttr* aclopCreateAttr() { return new aclopAttr; }
void aclopDestroyAttr(const aclopAttr* attr) { delete attr; }
aclError aclopSetAttrBool(aclopAttr* attr, const char*, uint8_t) { SIM_DESCRIBE(attr); }
aclError aclopSetAttrInt(aclopAttr* attr, const char*, int64_t) { SIM_DESCRIBE(attr); }
aclError aclopSetAttrFloat(aclopAttr* attr, const char*, float) { SIM_DESCRIBE(attr); }

aclError aclopSetAttrString(aclopAttr* attr, const char* name, const char* value) {
  SIM_REQUIRE(attr != nullptr && name != nullptr && value != nullptr, ACL_ERROR_INVALID_PARAM, "a pointer is null");
  attr->texts[name] = value;
  return ACL_SUCCESS;
}

aclError aclopSetAttrDataType(aclopAttr* attr, const char*, aclDataType) { SIM_DESCRIBE(attr); }
aclError aclopSetAttrListBool(aclopAttr* attr, const char*, int, const uint8_t*) { SIM_DESCRIBE(attr); }
aclError aclopSetAttrListInt(aclopAttr* attr, const char*, int, const int64_t*) { SIM_DESCRIBE(attr); }
aclError aclopSetAttrListFloat(aclopAttr* attr, const char*, int, const float*) { SIM_DESCRIBE(attr); }
aclError aclopSetAttrListListInt(aclopAttr* attr, const char*, int, const int*, const int64_t* const[]) { SIM_DESCRIBE(attr); }
