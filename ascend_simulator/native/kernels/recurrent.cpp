#include "by_hand.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_pack_padded_sequence.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include "cann_error.h"

namespace npu_sim {
namespace {

using OptionalTensor = optional<at::Tensor>;

at::Tensor with_bias(const at::Tensor& gates, const OptionalTensor& bias) {
  return bias.has_value() && bias->defined() ? gates + *bias : gates;
}

// op_plugin/ops/opapi/LstmCellKernelNpuOpApi.cpp
void check_lstm_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& cx) {
  const auto type = input_gates.scalar_type();
  const char* const why = type != at::kFloat && type != at::kHalf ? "lstm_cell input_gates must be float or half"
                          : hidden_gates.scalar_type() != type
                              ? "lstm_cell input_gates and hidden_gates must have same dtype"
                          : cx.scalar_type() != type ? "lstm_cell input_gates and c must have same dtype"
                                                     : nullptr;
  if (why != nullptr) {
    refuse_as_torch_npu(why, "", "torch_npu's own check (https://gitcode.com/Ascend/op-plugin)");
  }
}

// PyTorch's equations (torch.nn.LSTMCell, torch.nn.GRUCell). At the autograd key their parts record the gradient; the
// workspace of an LSTM holds its gates as the fused backward reads them, a GRU's, which nothing reads, stays empty.
std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                                                         const at::Tensor& cx, const OptionalTensor& input_bias,
                                                         const OptionalTensor& hidden_bias) {
  check_lstm_cell(input_gates, hidden_gates, cx);
  const auto gates = (with_bias(input_gates, input_bias) + with_bias(hidden_gates, hidden_bias)).chunk(4, -1);
  const auto input = gates[0].sigmoid(), forget = gates[1].sigmoid(), cell = gates[2].tanh(), out = gates[3].sigmoid();
  const auto cy = forget * cx + input * cell;
  return {out * cy.tanh(), cy, at::cat({input, forget, cell, out}, -1).detach()};
}

// The workspace is the forward's; the gradient of a bias is there where the cell has one.
std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell_backward(const OptionalTensor& grad_hy,
                                                                  const OptionalTensor& grad_cy, const at::Tensor& cx,
                                                                  const at::Tensor& cy, const at::Tensor& workspace,
                                                                  bool has_bias) {
  TORCH_CHECK(cx.dim() == 2 && cy.dim() == 2 && workspace.dim() == 2, "cx, cy and workspace must be a 2D Tensor");
  TORCH_CHECK(cx.sizes() == cy.sizes(), "cx and cy must be the same size");
  const auto gates = workspace.to(at::kFloat).chunk(4, -1);
  const auto tanh_cy = cy.to(at::kFloat).tanh(), none = at::zeros_like(tanh_cy);
  const auto grad_h = grad_hy.has_value() && grad_hy->defined() ? grad_hy->to(at::kFloat) : none;
  const auto grad_c = (grad_cy.has_value() && grad_cy->defined() ? grad_cy->to(at::kFloat) : none) +
                      grad_h * gates[3] * (1 - tanh_cy * tanh_cy);
  const auto grad_gates = at::cat({grad_c * gates[2] * gates[0] * (1 - gates[0]),
                                   grad_c * cx.to(at::kFloat) * gates[1] * (1 - gates[1]),
                                   grad_c * gates[0] * (1 - gates[2] * gates[2]),
                                   grad_h * tanh_cy * gates[3] * (1 - gates[3])}, -1);
  const auto type = cx.scalar_type();
  return {grad_gates.to(workspace.scalar_type()), (grad_c * gates[1]).to(type),
          has_bias ? grad_gates.sum(0).to(type) : at::Tensor()};
}

std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                                            const at::Tensor& hx, const OptionalTensor& input_bias,
                                            const OptionalTensor& hidden_bias) {
  const auto from_input = with_bias(input_gates, input_bias).chunk(3, -1);
  const auto from_hidden = with_bias(hidden_gates, hidden_bias).chunk(3, -1);
  const auto reset = (from_input[0] + from_hidden[0]).sigmoid();
  const auto update = (from_input[1] + from_hidden[1]).sigmoid();
  const auto candidate = (from_input[2] + reset * from_hidden[2]).tanh();
  return {(hx - candidate) * update + candidate, at::empty({0}, hx.options())};
}

// The lengths and the batch sizes are on the CPU by contract (torch.nn.utils.rnn.PackedSequence).
std::tuple<at::Tensor, at::Tensor> pack_padded_sequence(const at::Tensor& input, const at::Tensor& lengths,
                                                        bool batch_first) {
  TORCH_CHECK(lengths.device().is_cpu(), "'lengths' argument should be a CPU tensor, but got ", lengths.device(),
              " tensor");
  auto [data, batch_sizes] = at::_pack_padded_sequence(input.cpu(), lengths, batch_first);
  return {data.to(input.device()), batch_sizes};
}

}  // namespace

void register_recurrent(torch::Library& aten, torch::Library& autograd) {
  for (auto* library : {&aten, &autograd}) {
    library->impl("_thnn_fused_lstm_cell", TORCH_FN(lstm_cell));
    library->impl("_thnn_fused_gru_cell", TORCH_FN(gru_cell));
  }
  aten.impl("_thnn_fused_lstm_cell_backward_impl", TORCH_FN(lstm_cell_backward));
  aten.impl("_pack_padded_sequence", TORCH_FN(pack_padded_sequence));
}

}  // namespace npu_sim
