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


def check_gradients_of_a_layer_norm_are_summed_in_float32() -> None:
    x, grad = torch.randn(64, 24).half(), torch.randn(64, 24).half()
    for dtype in (torch.float32, torch.float16):
        ours, wide = torch.nn.LayerNorm(24).npu().to(dtype), torch.nn.LayerNorm(24)
        leaf, twin = x.npu().requires_grad_(), x.float().requires_grad_()
        output, _, _ = torch.native_layer_norm(leaf, (24,), ours.weight, ours.bias, 1e-5)
        output.backward(grad.npu())
        wide(twin).backward(grad.float())
        found = (leaf.grad, ours.weight.grad, ours.bias.grad)
        for mine, theirs in zip(found, (twin.grad, wide.weight.grad, wide.bias.grad)):
            least = 1e-5 if mine.dtype == torch.float32 else 2e-3
            torch.testing.assert_close(mine.cpu().float(), theirs, rtol=least, atol=least)
        assert [one.dtype for one in found] == [torch.float16, dtype, dtype]
