#include "reduce.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "wire.h"

namespace sim_hccl {
namespace {

template <class Number>
Number combine(HcclReduceOp op, Number left, Number right) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (op == HCCL_REDUCE_SUM) return left + right;
    if (op == HCCL_REDUCE_PROD) return left * right;
    if (std::isnan(left) || std::isnan(right)) return NAN;
  } else {  // in unsigned arithmetic, which wraps as the device does
    using Wrapping = std::make_unsigned_t<Number>;
    using Wide = std::conditional_t<(sizeof(Number) < sizeof(unsigned)), unsigned, Wrapping>;
    const Wide a = static_cast<Wrapping>(left), b = static_cast<Wrapping>(right);
    if (op == HCCL_REDUCE_SUM) return static_cast<Number>(a + b);
    if (op == HCCL_REDUCE_PROD) return static_cast<Number>(a * b);
  }
  return op == HCCL_REDUCE_MAX ? std::max(left, right) : std::min(left, right);
}

template <class Number, class Sum = Number>
void add_to(HcclReduceOp op, void* accumulator, const void* next, size_t count) {
  auto* sums = static_cast<Sum*>(accumulator);
  const auto* values = static_cast<const Number*>(next);
  for (size_t i = 0; i < count; ++i) sums[i] = combine(op, sums[i], static_cast<Sum>(values[i]));
}

template <class From, class To>
void convert(void* to, const void* from, size_t count) {
  const auto* values = static_cast<const From*>(from);
  std::transform(values, values + count, static_cast<To*>(to), [](From value) { return static_cast<To>(value); });
}

struct Type {
  HcclDataType type;
  size_t size;
  const char* name;
};

constexpr Type kTypes[] = {
    {HCCL_DATA_TYPE_INT8, 1, "int8"},      {HCCL_DATA_TYPE_INT16, 2, "int16"},   {HCCL_DATA_TYPE_INT32, 4, "int32"},
    {HCCL_DATA_TYPE_FP16, 2, "fp16"},      {HCCL_DATA_TYPE_FP32, 4, "fp32"},     {HCCL_DATA_TYPE_INT64, 8, "int64"},
    {HCCL_DATA_TYPE_UINT64, 8, "uint64"},  {HCCL_DATA_TYPE_UINT8, 1, "uint8"},   {HCCL_DATA_TYPE_UINT16, 2, "uint16"},
    {HCCL_DATA_TYPE_UINT32, 4, "uint32"},  {HCCL_DATA_TYPE_FP64, 8, "fp64"},     {HCCL_DATA_TYPE_BFP16, 2, "bfp16"},
};

}  // namespace

size_t size_of(HcclDataType type) {
  for (const Type& known : kTypes) {
    if (known.type == type) return known.size;
  }
  throw Refusal(HCCL_E_NOT_SUPPORT, "the simulator lacks the data type " + std::to_string(type));
}

std::string name_of(HcclDataType type) {
  for (const Type& known : kTypes) {
    if (known.type == type) return known.name;
  }
  return "data type " + std::to_string(type);
}

std::string name_of(HcclReduceOp op) {
  constexpr const char* names[] = {"sum", "prod", "max", "min"};
  return op <= HCCL_REDUCE_MIN ? names[op] : "reduction " + std::to_string(op);
}

void check_reduction(HcclDataType type, HcclReduceOp op) {
  constexpr HcclDataType kReduced[] = {HCCL_DATA_TYPE_INT8, HCCL_DATA_TYPE_INT16, HCCL_DATA_TYPE_INT32,
                                       HCCL_DATA_TYPE_INT64, HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_FP32,
                                       HCCL_DATA_TYPE_BFP16};
  const bool known = op <= HCCL_REDUCE_MIN && std::find(std::begin(kReduced), std::end(kReduced), type) != std::end(kReduced);
  const bool no_product = op == HCCL_REDUCE_PROD && (type == HCCL_DATA_TYPE_INT16 || type == HCCL_DATA_TYPE_BFP16);
  if (!known || no_product) {
    throw Refusal(HCCL_E_NOT_SUPPORT, "HCCL does not reduce " + name_of(type) + " by " + name_of(op));
  }
}

size_t Reduction::accumulator_size(size_t count) const { return count * (widened() ? sizeof(float) : size_of(type_)); }

void Reduction::start(void* accumulator, const void* first, size_t count) const {
  if (type_ == HCCL_DATA_TYPE_FP16) return convert<c10::Half, float>(accumulator, first, count);
  if (type_ == HCCL_DATA_TYPE_BFP16) return convert<c10::BFloat16, float>(accumulator, first, count);
  std::memcpy(accumulator, first, count * size_of(type_));
}

void Reduction::add(void* accumulator, const void* next, size_t count) const {
  switch (type_) {
    case HCCL_DATA_TYPE_INT8: return add_to<int8_t>(op_, accumulator, next, count);
    case HCCL_DATA_TYPE_INT16: return add_to<int16_t>(op_, accumulator, next, count);
    case HCCL_DATA_TYPE_INT32: return add_to<int32_t>(op_, accumulator, next, count);
    case HCCL_DATA_TYPE_INT64: return add_to<int64_t>(op_, accumulator, next, count);
    case HCCL_DATA_TYPE_FP32: return add_to<float>(op_, accumulator, next, count);
    case HCCL_DATA_TYPE_FP16: return add_to<c10::Half, float>(op_, accumulator, next, count);
    case HCCL_DATA_TYPE_BFP16: return add_to<c10::BFloat16, float>(op_, accumulator, next, count);
    default: check_reduction(type_, op_);
  }
}

void Reduction::finish(void* result, const void* accumulator, size_t count) const {
  if (type_ == HCCL_DATA_TYPE_FP16) return convert<float, c10::Half>(result, accumulator, count);
  if (type_ == HCCL_DATA_TYPE_BFP16) return convert<float, c10::BFloat16>(result, accumulator, count);
  std::memcpy(result, accumulator, count * size_of(type_));
}

}  // namespace sim_hccl
