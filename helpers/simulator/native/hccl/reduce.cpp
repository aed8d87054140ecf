#include "reduce.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "wire.h"

namespace sim_hccl {
namespace {

struct Half {
  uint16_t bits;
};
struct Brain {
  uint16_t bits;
};

float bits_to_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

uint32_t float_to_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float widen(Brain value) { return bits_to_float(static_cast<uint32_t>(value.bits) << 16); }

// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 mantissa bits.
float widen(Half value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16;
  const uint32_t exponent = value.bits >> 10 & 0x1f, mantissa = value.bits & 0x3ffu;
  if (exponent == 0x1f) return bits_to_float(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return bits_to_float(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  return sign != 0 ? -magnitude : magnitude;
}

// To the nearest, ties to even; NaN stays NaN.
Brain narrow_to(Brain, float value) {
  const uint32_t bits = float_to_bits(value);
  if (std::isnan(value)) return {static_cast<uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

Half narrow_to(Half, float value) {
  const uint32_t bits = float_to_bits(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return {static_cast<uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 65520.0f) return {static_cast<uint16_t>(sign | 0x7c00u)};
  if (magnitude < 6.103515625e-05f) {  // below 2^-14: a multiple of 2^-24
    return {static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24))))};
  }
  const uint32_t rebased = (bits & 0x7fffffffu) - (112u << 23);
  return {static_cast<uint16_t>(sign | ((rebased + 0xfffu + (rebased >> 13 & 1u)) >> 13))};
}

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

template <class Number>
void add_plain(HcclReduceOp op, void* accumulator, const void* next, size_t count) {
  auto* sums = static_cast<Number*>(accumulator);
  const auto* values = static_cast<const Number*>(next);
  for (size_t i = 0; i < count; ++i) sums[i] = combine(op, sums[i], values[i]);
}

template <class Narrow>
void add_narrow(HcclReduceOp op, void* accumulator, const void* next, size_t count) {
  auto* sums = static_cast<float*>(accumulator);
  const auto* values = static_cast<const Narrow*>(next);
  for (size_t i = 0; i < count; ++i) sums[i] = combine(op, sums[i], widen(values[i]));
}

template <class Narrow>
void start_narrow(void* accumulator, const void* first, size_t count) {
  const auto* values = static_cast<const Narrow*>(first);
  std::transform(values, values + count, static_cast<float*>(accumulator), [](Narrow value) { return widen(value); });
}

template <class Narrow>
void finish_narrow(void* result, const void* accumulator, size_t count) {
  const auto* sums = static_cast<const float*>(accumulator);
  std::transform(sums, sums + count, static_cast<Narrow*>(result), [](float sum) { return narrow_to(Narrow{}, sum); });
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
  if (type_ == HCCL_DATA_TYPE_FP16) return start_narrow<Half>(accumulator, first, count);
  if (type_ == HCCL_DATA_TYPE_BFP16) return start_narrow<Brain>(accumulator, first, count);
  std::memcpy(accumulator, first, count * size_of(type_));
}

void Reduction::add(void* accumulator, const void* next, size_t count) const {
  switch (type_) {
    case HCCL_DATA_TYPE_INT8: return add_plain<int8_t>(op_, accumulator, next, count);
    case HCCL_DATA_TYPE_INT16: return add_plain<int16_t>(op_, accumulator, next, count);
    case HCCL_DATA_TYPE_INT32: return add_plain<int32_t>(op_, accumulator, next, count);
    case HCCL_DATA_TYPE_INT64: return add_plain<int64_t>(op_, accumulator, next, count);
    case HCCL_DATA_TYPE_FP32: return add_plain<float>(op_, accumulator, next, count);
    case HCCL_DATA_TYPE_FP16: return add_narrow<Half>(op_, accumulator, next, count);
    case HCCL_DATA_TYPE_BFP16: return add_narrow<Brain>(op_, accumulator, next, count);
    default: check_reduction(type_, op_);
  }
}

void Reduction::finish(void* result, const void* accumulator, size_t count) const {
  if (type_ == HCCL_DATA_TYPE_FP16) return finish_narrow<Half>(result, accumulator, count);
  if (type_ == HCCL_DATA_TYPE_BFP16) return finish_narrow<Brain>(result, accumulator, count);
  std::memcpy(result, accumulator, count * size_of(type_));
}

}  // namespace sim_hccl
