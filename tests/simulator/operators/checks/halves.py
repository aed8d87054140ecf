"""Half precision: sums and products in float32, rounded once, wherever an element stands in memory."""

from __future__ import annotations

from typing import Any, Callable

import torch

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
}


def check_each_element_is_rounded_once() -> None:
    for dtype in (torch.float16, torch.bfloat16):
        for name, formula in FORMULAS.items():
            values = [torch.randn(SHAPE).abs().add(1).to(dtype) for _ in range(3)]
            expected = formula(*(value.float() for value in values)).to(dtype)
            ours = formula(*(value.npu() for value in values))
            assert ours.dtype == dtype and torch.equal(ours.cpu(), expected), (name, dtype)


def check_lists_too() -> None:
    for dtype in (torch.float16, torch.bfloat16):
        for name, formula in LISTS.items():
            values = [torch.randn(SHAPE).to(dtype) for _ in range(3)]
            (expected,) = formula(*([value.float()] for value in values))
            (ours,) = formula(*([value.npu()] for value in values))
            assert ours.dtype == dtype and torch.equal(ours.cpu(), expected.to(dtype)), (name, dtype)


def check_a_half_step_equals_that_of_float32_rounded() -> None:
    weight, grad = torch.randn(SHAPE).half(), torch.randn(SHAPE).half()
    parameter = torch.nn.Parameter(weight.npu())
    parameter.grad = grad.npu()
    torch.optim.SGD([parameter], lr=0.1, foreach=True).step()
    assert torch.equal(parameter.detach().cpu(), weight.float().sub(grad.float(), alpha=0.1).half())


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
