"""Half precision: sums and products in float32, rounded once, wherever an element stands in memory; updates of float16
lists with a factor are rounded after each step.
"""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.nn.functional as F
from comparing import raises
from torch import Tensor

SHAPE = (50, 31)  # PyTorch's CPU kernels handle the last elements apart from whole vectors, and round in between there

FORMULAS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda a, b, c: torch.add(a, b, alpha=1.1),
    "sub": lambda a, b, c: torch.sub(a, b, alpha=5.0),
    "rsub": lambda a, b, c: torch.rsub(a, b, alpha=0.3),
    "addcmul": lambda a, b, c: torch.addcmul(a, b, c, value=0.7),
    "addcdiv": lambda a, b, c: torch.addcdiv(a, b, c, value=0.7),
}
LISTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "_foreach_add": lambda a, b, c: torch._foreach_add(a, b, alpha=1.1),
    "_foreach_sub": lambda a, b, c: torch._foreach_sub(a, b, alpha=5.0),
    "_foreach_addcmul": lambda a, b, c: torch._foreach_addcmul(a, b, c, 0.7),
    "_foreach_addcmul_": lambda a, b, c: torch._foreach_addcmul_(a, b, c, [0.7]) or a,
    "_foreach_sub_": lambda a, b, c: torch._foreach_sub_(a, b, alpha=5.0) or a,
    "_foreach_addcdiv": lambda a, b, c: torch._foreach_addcdiv(a, b, c, [0.5]),
}


def check_each_element_is_rounded_once() -> None:
    for dtype in (torch.float16, torch.bfloat16):
        for name, formula in FORMULAS.items():
            values = [torch.randn(SHAPE).abs().add(1).to(dtype) for _ in range(3)]
            expected = formula(*(value.float() for value in values)).to(dtype)
            ours = formula(*(value.npu() for value in values))
            assert ours.dtype == dtype and torch.equal(ours.cpu(), expected), (name, dtype)


def check_lists_are_rounded_once_too() -> None:
    for dtype in (torch.float16, torch.bfloat16):
        for name, formula in LISTS.items():
            values = [torch.randn(SHAPE).to(dtype) for _ in range(3)]
            (expected,) = formula(*([value.float()] for value in values))
            (ours,) = formula(*([value.npu()] for value in values))
            assert ours.dtype == dtype and torch.equal(ours.cpu(), expected.to(dtype)), (name, dtype)


def check_lists_of_another_length_are_refused() -> None:
    a, b = torch.ones(3).half().npu(), torch.ones(3).half().npu()
    raises(lambda: torch._foreach_add([a, b], [a], alpha=2.0), "same number")


def check_a_factor_beyond_the_range_is_refused() -> None:
    a = torch.ones(3)
    raises(lambda: torch.add(a.half().npu(), a.half().npu(), alpha=1e20), "without overflow")
    assert torch.add(a.bfloat16().npu(), a.bfloat16().npu(), alpha=1e20).cpu().isfinite().all()
    assert torch.add(a.half().npu(), a.half().npu(), alpha=65504.0).cpu().tolist() == [65504.0] * 3


ONCE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mse_loss": lambda a, b: F.mse_loss(a, b),
    "soft_margin_loss": lambda a, b: F.soft_margin_loss(a, b.sign()),
    "adaptive_avg_pool3d": lambda a, b: F.adaptive_avg_pool3d(a, (2, 2, 2)),
    "upsample_linear1d": lambda a, b: F.interpolate(a[0, 0], 11, mode="linear"),
    "upsample_trilinear3d": lambda a, b: F.interpolate(a, (5, 7, 9), mode="trilinear"),
    "upsample_bicubic2d": lambda a, b: F.interpolate(a[0], (7, 9), mode="bicubic"),
    "addr": lambda a, b: torch.addr(a[0, 0, 0], b[0, 0, 0, :, 0], b[0, 0, 0, 0]),
    "log_softmax": lambda a, b: F.log_softmax(a, -1),
    "prod": lambda a, b: torch.prod(a, 1, dtype=a.dtype),
}


def check_made_of_steps_but_rounded_once() -> None:
    for dtype in (torch.float16, torch.bfloat16):
        for name, formula in ONCE.items():
            values = [torch.randn(2, 3, 4, 5, 6).to(dtype) for _ in range(2)]
            expected = formula(*(value.float() for value in values)).to(dtype)
            ours = formula(*(value.npu() for value in values))
            assert ours.dtype == dtype and torch.equal(ours.cpu(), expected), (name, dtype)


def check_a_softmax_of_float16_in_float32() -> None:
    x, grad = torch.randn(5, 9).half(), torch.randn(5, 9)
    for plain in (F.softmax, F.log_softmax):
        ours, theirs = x.npu().requires_grad_(), x.float().requires_grad_()
        output, expected = plain(ours, -1, dtype=torch.float32), plain(theirs, -1)
        assert output.dtype == torch.float32 and torch.equal(output.detach().cpu(), expected.detach())
        output.backward(grad.npu())
        expected.backward(grad)
        assert ours.grad is not None and theirs.grad is not None and torch.equal(ours.grad.cpu(), theirs.grad.half())
    direct = torch.ops.aten._softmax(x.npu(), -1, True)
    assert direct.dtype == torch.float32 and torch.equal(direct.cpu(), F.softmax(x.float(), -1))


def check_the_fused_lstm_cell_and_its_backward() -> None:
    gates = [torch.randn(4, 12).requires_grad_() for _ in range(2)]
    cell, bias = torch.randn(4, 3).requires_grad_(), torch.randn(12).requires_grad_()
    i, f, g, o = (gates[0] + gates[1] + bias).chunk(4, -1)
    expected_c = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    expected_h = o.sigmoid() * expected_c.tanh()
    with torch.no_grad():
        on_npu = [tensor.detach().npu() for tensor in (*gates, cell, bias)]
        h, c, workspace = torch.ops.aten._thnn_fused_lstm_cell(*on_npu, torch.zeros(12).npu())
    for ours, theirs in ((h, expected_h), (c, expected_c)):
        torch.testing.assert_close(ours.cpu(), theirs.detach())
    grads = torch.randn(4, 3), torch.randn(4, 3)
    backward = torch.ops.aten._thnn_fused_lstm_cell_backward_impl
    found = backward(grads[0].npu(), grads[1].npu(), on_npu[2], c, workspace, True)
    torch.autograd.backward([expected_h, expected_c], list(grads))
    for ours, leaf in zip(found, (gates[0], cell, bias)):
        torch.testing.assert_close(ours.cpu(), leaf.grad)


def check_samples_of_a_grid_are_rounded_once() -> None:
    image, grid = torch.randn(2, 3, 5, 7).half(), torch.rand(2, 4, 6, 2).half()
    ours = torch.nn.functional.grid_sample(image.npu(), grid.npu(), align_corners=True)
    expected = torch.nn.functional.grid_sample(image.float(), grid.float(), align_corners=True).half()
    assert torch.equal(ours.cpu(), expected)


def check_a_layer_norm_keeps_its_statistics_in_float32() -> None:
    for dtype, weights in ((torch.float16, torch.float32), (torch.float16, torch.float16), (torch.bfloat16,) * 2):
        x, grad = torch.randn(64, 24).to(dtype), torch.randn(64, 24).to(dtype)
        weight, bias = torch.randn(24).to(weights), torch.randn(24).to(weights)
        leaves = [x.npu().requires_grad_(), weight.npu().requires_grad_(), bias.npu().requires_grad_()]
        twins = [one.float().requires_grad_() for one in (x, weight, bias)]
        output, mean, rstd = torch.native_layer_norm(leaves[0], (24,), leaves[1], leaves[2], 1e-5)
        expected = torch.native_layer_norm(twins[0], (24,), twins[1], twins[2], 1e-5)
        assert torch.equal(output.cpu(), expected[0].to(dtype)) and mean.dtype == rstd.dtype == torch.float32
        output.backward(grad.npu())
        expected[0].backward(grad.float())
        for ours, theirs in zip(leaves, twins):
            assert ours.grad is not None and theirs.grad is not None and ours.grad.dtype == ours.dtype
            least = 1e-5 if ours.dtype == torch.float32 else 0.0
            torch.testing.assert_close(ours.grad.cpu(), theirs.grad.to(ours.dtype), rtol=least, atol=least)


def check_numbers_are_added_in_float32() -> None:
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.randn(SHAPE).to(dtype)
        expected = torch.add(x.float(), 1.7, alpha=0.37).to(dtype)
        assert torch.equal(torch.add(x.npu(), 1.7, alpha=0.37).cpu(), expected), dtype


def check_a_loss_over_classes_is_summed_in_float32() -> None:
    scores, target = torch.randn(512, 7).half(), torch.randint(0, 7, (512,))
    for reduction in ("mean", "sum"):
        ours, twin = scores.npu().requires_grad_(), scores.float().requires_grad_()
        loss = torch.nn.functional.nll_loss(ours, target.npu(), reduction=reduction)
        expected = torch.nn.functional.nll_loss(twin, target, reduction=reduction)
        loss.backward()
        expected.backward()
        assert torch.equal(loss.detach().cpu(), expected.detach().half()), reduction
        assert ours.grad is not None and twin.grad is not None
        assert torch.equal(ours.grad.cpu(), twin.grad.half()), reduction
