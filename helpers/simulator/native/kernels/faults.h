// Faults on purpose: for learning how precision alignment finds the operator that is wrong.
//
// ASCEND_WORKBOOK_SIM_FAULT, read once when the simulator starts:
//
//   FAULT [; FAULT]...          FAULT = OPERATOR [@CALLS] : KIND
//   OPERATOR   a name of PyTorch, with or without "aten::", with or without an overload: aten::convolution,
//              _softmax, native_layer_norm_backward, add.Tensor. Names of the API stand for what they are made of:
//              softmax, log_softmax, layer_norm, batch_norm, group_norm, linear, matmul, conv1d, conv2d, conv3d,
//              cross_entropy, max_pool2d, scaled_dot_product_attention, and with _backward the gradients of softmax,
//              log_softmax, layer_norm, batch_norm, group_norm, embedding and conv2d.
//   CALLS      which calls of it in this process, counted from 1: 3, 3-5 or * (the default: every call)
//   KIND       scale=X (times X), add=X (plus X), noise=X (each element times 1 + X * N(0, 1)), zero,
//              nan (the first element becomes NaN)
//
// The first result of a forward operator is changed, every gradient of a backward one. An active fault says so on
// stderr; one whose calls never came says that when the process ends; a value that does not follow this grammar, or
// names no simulated operator, stops the start.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>
#include <string>
#include <vector>

namespace npu_sim {

class Fault;

// Reads the variable; throws c10::Error on a malformed value.
void read_faults();

// The faults of one operator; counts as placed.
std::vector<std::shared_ptr<Fault>> faults_of(const c10::OperatorName& op);

// Throws c10::Error if a fault names no simulated operator; says on stderr which are active.
void announce_faults();

// Counts this call for each fault and changes the results (the last `count` of the stack) where one is due.
void apply_faults(const std::vector<std::shared_ptr<Fault>>& faults, torch::jit::Stack* stack, size_t count);

}  // namespace npu_sim
