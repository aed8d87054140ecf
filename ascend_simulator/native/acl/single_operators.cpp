// The road by single-operator graphs (aclop). The simulator runs operators by kernels registered with PyTorch
// (../kernels); this road is taken only where torch_npu calls its own code past PyTorch's dispatcher. Fill and PadV3 are
// done here, because ProcessGroupHCCL::byte_alignment pads with them; any other operator is an error that names it.
#include "operators.h"
#include "runtime.h"

#include <acl/acl_op_compiler.h>

#include <cstring>

namespace {

struct Operand {
  const aclTensorDesc& desc;
  const aclDataBuffer& buffer;
};

struct Node {
  const char* type;
  std::vector<Operand> inputs, outputs;
  const aclopAttr* attributes;
};

size_t size_of(aclDataType type) {
  switch (type) {
    case ACL_INT8: case ACL_UINT8: case ACL_BOOL: return 1;
    case ACL_FLOAT16: case ACL_BF16: case ACL_INT16: case ACL_UINT16: return 2;
    case ACL_FLOAT: case ACL_INT32: case ACL_UINT32: return 4;
    case ACL_INT64: case ACL_UINT64: case ACL_DOUBLE: case ACL_COMPLEX64: return 8;
    default: return 0;
  }
}

size_t count_of(const aclTensorDesc& desc) {
  size_t count = 1;
  for (const int64_t extent : desc.shape) count *= static_cast<size_t>(extent);
  return count;
}

bool whole(const Operand& operand) {
  const size_t bytes = count_of(operand.desc) * size_of(operand.desc.type);
  return bytes > 0 && operand.buffer.data != nullptr && operand.buffer.size >= bytes;
}

void repeat(void* to, size_t count, const void* value, size_t width) {
  char* at = static_cast<char*>(to);
  for (size_t done = 0; done < count; ++done, at += width) std::memcpy(at, value, width);
}

// Fill(dims, value) -> y: one value, repeated over the whole of y. False: not in a form that is known here.
bool fill(const Node& node) {
  if (node.inputs.size() != 2 || node.outputs.size() != 1) return false;
  const Operand &value = node.inputs[1], &y = node.outputs[0];
  if (!whole(y) || !whole(value) || value.desc.type != y.desc.type || count_of(value.desc) != 1) return false;
  repeat(y.buffer.data, count_of(y.desc), value.buffer.data, size_of(y.desc.type));
  return true;
}

// Copies the last dimension as a block, the others by recursion; `paddings` holds (before, after) for each.
void place(const Node& node, const int32_t* paddings, size_t dimension, size_t from, size_t to) {
  const Operand &x = node.inputs[0], &y = node.outputs[0];
  const std::vector<int64_t>&in = x.desc.shape, &out = y.desc.shape;
  const size_t width = size_of(x.desc.type);
  if (dimension + 1 == in.size()) {
    to = to * out[dimension] + paddings[2 * dimension];
    std::memcpy(static_cast<char*>(y.buffer.data) + to * width,
                static_cast<const char*>(x.buffer.data) + from * in[dimension] * width, in[dimension] * width);
    return;
  }
  for (int64_t at = 0; at < in[dimension]; ++at) {
    place(node, paddings, dimension + 1, from * in[dimension] + at, to * out[dimension] + paddings[2 * dimension] + at);
  }
}

// PadV3(x, paddings, value) -> y with mode "constant".
bool pad(const Node& node) {
  if (node.inputs.size() != 3 || node.outputs.size() != 1 || node.attributes == nullptr) return false;
  const Operand &x = node.inputs[0], &amounts = node.inputs[1], &value = node.inputs[2], &y = node.outputs[0];
  const size_t dimensions = x.desc.shape.size();
  const auto mode = node.attributes->texts.find("mode");
  if (mode == node.attributes->texts.end() || mode->second != "constant") return false;
  if (!whole(x) || !whole(amounts) || !whole(value) || !whole(y) || dimensions == 0) return false;
  if (x.desc.type != y.desc.type || value.desc.type != y.desc.type || amounts.desc.type != ACL_INT32) return false;
  if (count_of(amounts.desc) != 2 * dimensions || y.desc.shape.size() != dimensions) return false;
  const auto* paddings = static_cast<const int32_t*>(amounts.buffer.data);
  for (size_t at = 0; at < dimensions; ++at) {
    const int32_t before = paddings[2 * at], after = paddings[2 * at + 1];
    if (before < 0 || after < 0 || y.desc.shape[at] != x.desc.shape[at] + before + after) return false;
  }
  repeat(y.buffer.data, count_of(y.desc), value.buffer.data, size_of(y.desc.type));
  place(node, paddings, 0, 0, 0);
  return true;
}

bool run(const Node& node) {
  if (std::strcmp(node.type, "Fill") == 0) return fill(node);
  if (std::strcmp(node.type, "PadV3") == 0) return pad(node);
  return false;
}

std::vector<Operand> operands(int count, const aclTensorDesc* const descs[], const aclDataBuffer* const buffers[]) {
  std::vector<Operand> all;
  for (int at = 0; at < count; ++at) all.push_back({*descs[at], *buffers[at]});
  return all;
}

aclError execute(const char* function, const char* type, int inputs, const aclTensorDesc* const in[],
                 const aclDataBuffer* const from[], int outputs, const aclTensorDesc* const out[],
                 const aclDataBuffer* const to[], const aclopAttr* attributes, aclrtStream stream) {
  const bool given = type != nullptr && (inputs == 0 || (in != nullptr && from != nullptr)) &&
                     (outputs == 0 || (out != nullptr && to != nullptr));
  if (!given) return sim::fail(ACL_ERROR_INVALID_PARAM, function, "a pointer is null");
  if (aclError code = sim::check_stream(function, stream)) return code;
  if (run({type, operands(inputs, in, from), operands(outputs, out, to), attributes})) return ACL_SUCCESS;
  return sim::fail(ACL_ERROR_API_NOT_SUPPORT, function,
                   "the simulator lacks the operator %s in this form (these types, layouts or arguments)", type);
}

}  // namespace

aclError aclopCompileAndExecute(const char* type, int inputs, const aclTensorDesc* const in[],
                                const aclDataBuffer* const from[], int outputs, const aclTensorDesc* const out[],
                                aclDataBuffer* const to[], const aclopAttr* attributes, aclopEngineType, aclopCompileType,
                                const char*, aclrtStream stream) {
  return execute(__func__, type, inputs, in, from, outputs, out, to, attributes, stream);
}

aclError aclopCompileAndExecuteV2(const char* type, int inputs, aclTensorDesc* in[], aclDataBuffer* from[], int outputs,
                                  aclTensorDesc* out[], aclDataBuffer* to[], aclopAttr* attributes, aclopEngineType,
                                  aclopCompileType, const char*, aclrtStream stream) {
  return execute(__func__, type, inputs, in, from, outputs, out, to, attributes, stream);
}
