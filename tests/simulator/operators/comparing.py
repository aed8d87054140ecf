"""A fused operator of torch_npu on the simulated NPU against its formula in plain PyTorch on the CPU.

Imported by the files of checks/, which run_checks.py starts in the folder of this file.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

TOLERANCE = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
DTYPES = tuple(TOLERANCE)


def leaves(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """Random float32 tensors that `dtype` holds exactly."""
    return [torch.randn(shape).to(dtype).float() for shape in shapes]


def tensors(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else [item for item in value if isinstance(item, torch.Tensor)]


def near(actual: torch.Tensor, expected: torch.Tensor, dtype: torch.dtype = torch.float32) -> None:
    torch.testing.assert_close(
        actual.detach().cpu().float(), expected.detach().float(), atol=TOLERANCE[dtype], rtol=10 * TOLERANCE[dtype]
    )


def compare(
    fused: Callable[..., Any],
    plain: Callable[..., Any],
    inputs: list[torch.Tensor],
    dtype: torch.dtype = torch.float32,
    gradient: bool = True,
) -> None:
    """The results, and the gradient of every input, of a fused operator in `dtype` and of the formula in float32."""
    ours = [tensor.to(dtype).npu().requires_grad_(gradient) for tensor in inputs]
    theirs = [tensor.clone().requires_grad_(gradient) for tensor in inputs]
    actual, expected = tensors(fused(*ours)), tensors(plain(*theirs))
    assert len(actual) == len(expected), f"{len(actual)} results, expected {len(expected)}"
    assert actual[0].dtype == dtype and actual[0].device.type == "npu", actual[0]
    for one, other in zip(actual, expected):
        near(one, other, dtype)
    if gradient:
        grad = torch.randn_like(expected[0]).to(dtype).float()
        actual[0].backward(grad.to(dtype).npu())
        expected[0].backward(grad)
        for one, other in zip(ours, theirs):
            near(one.grad, other.grad, dtype)


def raises(call: Callable[[], Any], *parts: str) -> None:
    try:
        call()
    except (RuntimeError, NotImplementedError, ValueError) as error:
        assert all(part in str(error) for part in parts), f"{type(error).__name__}: {error}"
    else:
        raise AssertionError(f"nothing raised; expected {parts}")
