// Element types of collectives and how they are reduced.
#pragma once

#include <hccl/hccl_types.h>

#include <cstddef>
#include <string>

namespace sim_hccl {

size_t size_of(HcclDataType type);  // bytes of one element; Refusal of a type that the simulator lacks
std::string name_of(HcclDataType type);
std::string name_of(HcclReduceOp op);

// Refusal unless a reduction of this type exists, as documented for HcclAllReduce on Atlas A2: int8, int16, int32,
// int64, fp16, fp32, bfp16, and for prod neither int16 nor bfp16
// (https://www.hiascend.com/document, "HCCL API (C)", HcclAllReduce).
void check_reduction(HcclDataType type, HcclReduceOp op);

// Reduces in the order in which it is fed, which is the order of ranks: the same inputs give the same bits.
// 16-bit floats are summed in float and rounded once, at the end.
class Reduction {
 public:
  Reduction(HcclDataType type, HcclReduceOp op) : type_(type), op_(op) { check_reduction(type, op); }

  size_t accumulator_size(size_t count) const;  // bytes that the accumulator of `count` elements takes
  void start(void* accumulator, const void* first, size_t count) const;
  void add(void* accumulator, const void* next, size_t count) const;
  void finish(void* result, const void* accumulator, size_t count) const;

 private:
  bool widened() const { return type_ == HCCL_DATA_TYPE_FP16 || type_ == HCCL_DATA_TYPE_BFP16; }

  HcclDataType type_;
  HcclReduceOp op_;
};

}  // namespace sim_hccl
