"""Gradients against the CPU's, among them those of operators that torch_npu replaces by fused ones of its own."""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import nn

ROW = torch.tensor([0, 2, 1, 3])

CALLS: dict[str, tuple[Callable[..., torch.Tensor], list[tuple[int, ...]]]] = {
    "matmul": (torch.matmul, [(2, 3, 4), (4, 5)]),
    "mv": (torch.mv, [(3, 4), (4,)]),
    "linear": (F.linear, [(2, 3, 4), (5, 4), (5,)]),
    "bilinear": (F.bilinear, [(3, 4), (3, 5), (2, 4, 5)]),
    "softmax": (lambda x: F.softmax(x, 1), [(4, 5)]),
    "softmax of a dtype": (lambda x: F.softmax(x, 1, dtype=torch.float32).square(), [(4, 5)]),
    "log_softmax": (lambda x: F.log_softmax(x, 0), [(4, 5)]),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), [(2, 2, 6, 4)] * 3),
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b, padding=1), [(2, 3, 9), (4, 3, 3), (4,)]),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1), [(2, 4, 8, 8), (6, 4, 3, 3), (6,)]),
    "conv2d grouped": (lambda x, w: F.conv2d(x, w, groups=4, padding=1), [(2, 4, 8, 8), (4, 1, 3, 3)]),
    "conv3d": (lambda x, w: F.conv3d(x, w), [(1, 2, 5, 5, 5), (3, 2, 2, 2, 2)]),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, stride=2), [(2, 3, 4, 4), (3, 2, 3, 3)]),
    "conv_tbc": (lambda x, w, b: torch.conv_tbc(x, w, b, 1), [(6, 2, 3), (3, 3, 4), (4,)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (5,), w, b), [(4, 5), (5,), (5,)]),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), [(3, 4, 5), (4,), (4,)]),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), [(6, 4, 3, 3), (4,), (4,)]),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), [(2, 3, 6, 6)]),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), [(2, 3, 6, 6)]),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 1), [(2, 3, 6, 6)]),
    "adaptive_avg_pool2d 3": (lambda x: F.adaptive_avg_pool2d(x, 3), [(2, 3, 6, 6)]),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), [(1, 2, 4, 4)]),
    "circular pad": (lambda x: F.pad(x, (1, 2), mode="circular"), [(1, 2, 5)]),
    "gelu": (F.gelu, [(4, 5)]),
    "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), [(4, 5)]),
    "silu": (F.silu, [(4, 5)]),
    "mish": (F.mish, [(4, 5)]),
    "logsigmoid": (F.logsigmoid, [(4, 5)]),
    "bce_with_logits": (lambda x: F.binary_cross_entropy_with_logits(x, x.detach().gt(0).float()), [(9,)]),
    "cross_entropy": (lambda x: F.cross_entropy(x, ROW.to(x.device)), [(4, 5)]),
    "smoothed cross_entropy": (lambda x: F.cross_entropy(x, ROW.to(x.device), label_smoothing=0.1), [(4, 5)]),
    "nll_loss": (lambda x: F.nll_loss(x, ROW.to(x.device)), [(4, 5)]),
    "kl_div": (lambda x, y: F.kl_div(x, y.exp(), reduction="batchmean"), [(4, 5), (4, 5)]),
    "l1_loss": (F.l1_loss, [(4, 5), (4, 5)]),
    "smooth_l1_loss": (F.smooth_l1_loss, [(4, 5), (4, 5)]),
    "embedding": (lambda w: F.embedding(ROW.to(w.device), w, padding_idx=0), [(5, 3)]),
    "gather": (lambda x: torch.gather(x, 1, ROW.to(x.device)[:, None]), [(4, 5)]),
    "index": (lambda x: x[ROW.to(x.device)][:, [1, 1]], [(4, 5)]),
    "where": (lambda x, y: torch.where(x > 0, x * 2, y), [(4, 5), (4, 5)]),
    "masked_fill": (lambda x: x.masked_fill(x > 0, 0.5), [(4, 5)]),
    "cdist": (torch.cdist, [(4, 3), (5, 3)]),
    "renorm": (lambda x: torch.renorm(x, 2, 0, 0.5), [(4, 5)]),
    "sort": (lambda x: x.sort(1).values, [(4, 5)]),
    "argsort": (lambda x: x.gather(1, x.argsort(1)), [(4, 5)]),
    "topk": (lambda x: x.topk(2).values, [(4, 5)]),
    "cumsum": (lambda x: x.cumsum(1), [(4, 5)]),
    "norm": (lambda x: x.norm(dim=1), [(4, 5)]),
    "logsumexp": (lambda x: x.logsumexp(1), [(4, 5)]),
    "max": (lambda x: x.max(1).values, [(4, 5)]),
    "repeat_interleave": (lambda x: x.repeat_interleave(ROW.to(x.device), 0), [(4, 5)]),
    "einsum": (lambda a, b: torch.einsum("bij,bjk->bik", a, b), [(2, 3, 4), (2, 4, 5)]),
    "inverse": (lambda x: torch.inverse(x @ x.t() + 4 * torch.eye(4, device=x.device)), [(4, 4)]),
    "cholesky": (lambda x: torch.linalg.cholesky(x @ x.t() + 4 * torch.eye(4, device=x.device)), [(4, 4)]),
    "slogdet": (lambda x: torch.linalg.slogdet(x @ x.t() + torch.eye(4, device=x.device)).logabsdet, [(4, 4)]),
    "rfft": (lambda x: torch.fft.rfft(x).abs().square(), [(3, 8)]),
    "irfft": (lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2), [(3, 8)]),
    "stft": (lambda x: torch.stft(x, 8, return_complex=True, window=torch.ones(8, device=x.device)).abs(), [(40,)]),
    "weight_norm": (lambda v, g: torch._weight_norm(v, g), [(4, 5), (4, 1)]),
    "fill_diagonal_": (lambda x: (x * 1).fill_diagonal_(0), [(4, 4)]),
}


def results(call: Callable[..., torch.Tensor], inputs: list[torch.Tensor], device: str) -> list[torch.Tensor]:
    leaves = [tensor.detach().to(device).requires_grad_() for tensor in inputs]
    output = call(*leaves)
    assert output.device.type == device
    weight = torch.linspace(0.5, 1.5, output.numel()).view(output.shape).to(device)
    grads = torch.autograd.grad((output * weight).sum(), leaves)
    return [output.detach().cpu(), *[grad.cpu() for grad in grads]]


def check_functions() -> None:
    wrong = []
    for name, (call, shapes) in CALLS.items():
        inputs = [torch.randn(shape) for shape in shapes]
        try:
            torch.testing.assert_close(results(call, inputs, "npu"), results(call, inputs, "cpu"), rtol=1e-5, atol=1e-5)
        except Exception as error:  # noqa: BLE001  each is listed by name
            wrong.append(f"{name}: {type(error).__name__}: {str(error)[:300]}")
    assert not wrong, "\n".join(wrong)


def compare_modules(make: Callable[[], nn.Module], *inputs: torch.Tensor, first: bool = False) -> None:
    torch.manual_seed(1)
    cpu = make()
    npu = make().npu()
    npu.load_state_dict(cpu.state_dict())
    answers: list[Any] = []
    for module, device in ((cpu, "cpu"), (npu, "npu")):
        output = module(*[tensor.to(device) for tensor in inputs])
        output = output[0] if first else output
        output.square().sum().backward()
        answers.append([output.detach().cpu(), *[p.grad.cpu() for p in module.parameters() if p.grad is not None]])
    torch.testing.assert_close(answers[1], answers[0], rtol=1e-4, atol=1e-4)


def check_recurrent_modules() -> None:
    x = torch.randn(5, 2, 3)
    compare_modules(lambda: nn.LSTM(3, 4, num_layers=2), x, first=True)
    compare_modules(lambda: nn.LSTM(3, 4, bidirectional=True, batch_first=True), x, first=True)
    compare_modules(lambda: nn.GRU(3, 4), x, first=True)
    compare_modules(lambda: nn.RNN(3, 4), x, first=True)
    compare_modules(lambda: nn.LSTMCell(3, 4), x[0], first=True)


def check_attention_modules() -> None:
    x = torch.randn(2, 5, 8)
    compare_modules(lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), x)
    compare_modules(lambda: nn.MultiheadAttention(8, 2, batch_first=True), x, x, x, first=True)


def check_packed_sequences() -> None:
    packed = nn.utils.rnn.pack_padded_sequence(torch.randn(3, 5, 4).npu(), torch.tensor([5, 3, 2]), batch_first=True)
    output, _ = nn.LSTM(4, 6, batch_first=True).npu()(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    assert padded.shape == (3, 5, 6) and padded.device.type == "npu" and lengths.tolist() == [5, 3, 2]
    assert padded[2, 2:].abs().sum().item() == 0
    try:
        torch._pack_padded_sequence(torch.randn(5, 2, 3).npu(), torch.tensor([5, 2]).npu(), False)
    except RuntimeError as error:
        assert "'lengths' argument should be a CPU tensor" in str(error)
    else:
        raise AssertionError("lengths on the NPU are taken")


def check_the_gradient_of_a_half_loss_with_logits_is_rounded_once() -> None:
    logits, target = torch.tensor([9.0, -9.0, 0.5]).half(), torch.tensor([1.0, 0.0, 1.0]).half()
    ours = logits.npu().requires_grad_()
    F.binary_cross_entropy_with_logits(ours, target.npu(), reduction="sum").backward()
    expected = (torch.sigmoid(logits.float()) - target.float()).half()
    assert ours.grad is not None and torch.equal(ours.grad.cpu(), expected) and expected.count_nonzero() == 3
    learnt = target.npu().requires_grad_()
    with torch.no_grad():
        F.binary_cross_entropy_with_logits(ours, learnt)
    try:
        F.binary_cross_entropy_with_logits(ours, learnt)
    except RuntimeError as error:
        assert "target.grad stays None" in str(error)
    else:
        raise AssertionError("a gradient that torch_npu leaves out is not told")


def check_double_backward() -> None:
    for device in ("cpu", "npu"):
        x = torch.linspace(-1, 1, 6).to(device).requires_grad_()
        (first,) = torch.autograd.grad(F.silu(x).square().sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        if device == "cpu":
            expected = second
        else:
            torch.testing.assert_close(second.cpu(), expected)


def check_hooks_retain_graph_and_inplace() -> None:
    x = torch.ones(3, device="npu", requires_grad=True)
    seen = []
    y = x * 2
    y.register_hook(lambda grad: seen.append(grad.tolist()))
    z = y.clone().mul_(3)
    z.sum().backward(retain_graph=True)
    z.sum().backward()
    assert seen == [[3.0] * 3] * 2 and x.grad is not None and x.grad.tolist() == [12.0] * 3
    try:
        x.mul_(2)
    except RuntimeError as error:
        assert "leaf Variable that requires grad" in str(error)
    else:
        raise AssertionError("an in-place change of a leaf was taken")


def check_a_changed_saved_tensor_is_seen() -> None:
    x = torch.ones(3, device="npu", requires_grad=True)
    y = (x * 2).exp()
    y.add_(1)
    try:
        y.sum().backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
    else:
        raise AssertionError("a changed saved tensor went unseen")


def check_the_backward_of_renorm_called_by_name() -> None:
    for p, dim in ((2.0, 0), (1.0, 1), (3.0, -1)):
        x, grad = torch.randn(4, 5), torch.randn(4, 5)
        plain = x.clone().requires_grad_()
        torch.renorm(plain, p, dim, 0.5).backward(grad)
        ours = torch.ops.npu.npu_renorm_backward(grad.npu(), x.npu(), p, dim, 0.5)
        torch.testing.assert_close(ours.cpu(), plain.grad, rtol=1e-4, atol=1e-5)
