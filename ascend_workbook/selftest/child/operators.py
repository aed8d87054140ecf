"""Started by file path in a child: operators on one device, each against its value in float64 on the CPU.

Prints {"begin": number, "case": name} before a case and its row after it, so that the case that ended the process is
known: `start` goes on behind it. A case that takes longer than `limit_s` ends the process (faulthandler's watchdog
needs no interpreter lock, so it also ends a hang in the driver).

The error is the largest difference over the largest magnitude of the exact value; for whole numbers any difference.
"""

from __future__ import annotations

import faulthandler
import json
import sys
import time
from typing import Any, Callable

FLOATS = ("float32", "float16", "bfloat16")
#: (name, inputs as shapes, function, whether gradients are compared too). Inputs are normal values; those whose name
#: ends in `+` are made positive.
Case = tuple[str, tuple[object, ...], Callable[..., object], bool]


def torch_cases(torch: Any) -> list[Case]:
    f = torch.nn.functional
    return [
        ("add", ((64, 96), (96,)), lambda a, b: a + b, True),
        ("mul", ((64, 96), (64, 1)), lambda a, b: a * b, True),
        ("div", ((64, 96), (64, 96, "+")), lambda a, b: a / b, True),
        ("exp", ((64, 96),), torch.exp, True),
        ("log", ((64, 96, "+"),), torch.log, True),
        ("sqrt", ((64, 96, "+"),), torch.sqrt, True),
        ("rsqrt", ((64, 96, "+"),), torch.rsqrt, True),
        ("tanh", ((64, 96),), torch.tanh, True),
        ("sigmoid", ((64, 96),), torch.sigmoid, True),
        ("relu", ((64, 96),), f.relu, True),
        ("gelu", ((64, 96),), f.gelu, True),
        ("silu", ((64, 96),), f.silu, True),
        ("softmax", ((32, 128),), lambda a: torch.softmax(a, -1), True),
        ("log_softmax", ((32, 128),), lambda a: torch.log_softmax(a, -1), True),
        ("sum", ((64, 96),), lambda a: a.sum(1), True),
        ("mean", ((64, 96),), lambda a: a.mean(0), True),
        ("var", ((64, 96),), lambda a: a.var(1), True),
        ("amax", ((64, 96),), lambda a: a.amax(1), False),
        ("cumsum", ((16, 64),), lambda a: a.cumsum(1), False),
        ("sort", ((16, 64),), lambda a: a.sort(1).values, False),
        ("topk", ((16, 64),), lambda a: a.topk(5, 1).values, False),
        ("where", ((64, 96), (64, 96)), lambda a, b: torch.where(a > 0, a, b), True),
        ("clamp", ((64, 96),), lambda a: a.clamp(-0.5, 0.5), True),
        ("transpose", ((8, 16, 32),), lambda a: a.transpose(1, 2).contiguous(), True),
        ("cat", ((8, 16), (8, 24)), lambda a, b: torch.cat((a, b), 1), True),
        ("gather", ((16, 64),), lambda a: a.gather(1, _make_index(torch, a, (16, 8), 64)), True),
        ("index_select", ((64, 32),), lambda a: a.index_select(0, _make_index(torch, a, (20,), 64)), True),
        ("masked_fill", ((64, 96),), lambda a: a.masked_fill(a > 1, 0.25), True),
        ("tril", ((48, 48),), torch.tril, True),
        ("matmul", ((64, 128), (128, 96)), torch.matmul, True),
        ("bmm", ((4, 32, 64), (4, 64, 48)), torch.bmm, True),
        ("linear", ((32, 128), (96, 128), (96,)), f.linear, True),
        ("conv2d", ((2, 8, 16, 16), (16, 8, 3, 3), (16,)), lambda a, w, b: f.conv2d(a, w, b, padding=1), True),
        ("conv1d", ((2, 8, 64), (16, 8, 3)), lambda a, w: f.conv1d(a, w, stride=2), True),
        ("max_pool2d", ((2, 8, 16, 16),), lambda a: f.max_pool2d(a, 2), True),
        ("avg_pool2d", ((2, 8, 16, 16),), lambda a: f.avg_pool2d(a, 2), True),
        ("layer_norm", ((32, 128), (128,), (128,)), lambda a, w, b: f.layer_norm(a, (128,), w, b), True),
        ("group_norm", ((4, 16, 8, 8), (16,), (16,)), lambda a, w, b: f.group_norm(a, 4, w, b), True),
        ("batch_norm", ((8, 16, 8, 8), (16,), (16,)), lambda a, w, b: f.batch_norm(a, None, None, w, b, True), True),
        ("embedding", ((64, 32),), lambda w: f.embedding(_make_index(torch, w, (4, 16), 64), w), True),
        ("cross_entropy", ((32, 64),), lambda a: f.cross_entropy(a, _make_index(torch, a, (32,), 64)), True),
        ("mse_loss", ((32, 64), (32, 64)), f.mse_loss, True),
        ("attention", ((2, 4, 32, 16),) * 3, lambda q, k, v: f.scaled_dot_product_attention(q, k, v), True),
        ("interpolate", ((2, 4, 8, 8),), lambda a: f.interpolate(a, scale_factor=2, mode="nearest"), True),
    ]


def npu_cases(torch: Any, torch_npu: Any) -> list[tuple[str, tuple[object, ...], object, object]]:
    """(name, shapes, torch_npu's operator, the same in plain torch). Formulas: torch_npu's documentation."""

    def rotate_half(x: Any) -> object:
        """Its second half negated, then its first."""
        half = x.shape[-1] // 2
        return torch.cat((-x[..., half:], x[..., :half]), -1)

    return [
        (
            "npu_rms_norm",
            ((16, 64), (64,)),
            lambda x, g: torch_npu.npu_rms_norm(x, g, epsilon=1e-6)[0],
            lambda x, g: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * g,
        ),
        (
            "npu_swiglu",
            ((16, 64),),
            lambda x: torch_npu.npu_swiglu(x, dim=-1),
            lambda x: torch.nn.functional.silu(x[..., :32]) * x[..., 32:],
        ),
        (
            "npu_rotary_mul",
            ((2, 8, 4, 16), (1, 8, 1, 16), (1, 8, 1, 16)),
            torch_npu.npu_rotary_mul,
            lambda x, c, s: x * c + rotate_half(x) * s,
        ),
        (
            "npu_fusion_attention",
            ((2, 4, 32, 16),) * 3,
            lambda q, k, v: torch_npu.npu_fusion_attention(q, k, v, 4, "BNSD", scale=0.25)[0],
            lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2) * 0.25, -1) @ v,
        ),
    ]


def main(kind: str, start: int, limit_s: int) -> None:
    """`kind` is npu, cuda or cpu."""
    import torch

    work: list[Any] = [(name, shapes, run, run, backward, FLOATS) for name, shapes, run, backward in torch_cases(torch)]
    if kind == "npu":
        import torch_npu

        halves = FLOATS[1:]
        work += [(name, shapes, run, exact, False, halves) for name, shapes, run, exact in npu_cases(torch, torch_npu)]
    device = "cpu" if kind == "cpu" else f"{kind}:0"
    planned = [(*case[:5], dtype) for case in work for dtype in case[5]]
    print(json.dumps({"total": len(planned)}), flush=True)
    for number, (name, shapes, run, exact, backward, dtype) in enumerate(planned):
        if number < start:
            continue
        print(json.dumps({"begin": number, "operator": name, "dtype": dtype}), flush=True)
        faulthandler.dump_traceback_later(limit_s, exit=True)
        row = {"number": number, "operator": name, "dtype": dtype}
        print(json.dumps({**row, **measure_case(torch, shapes, run, exact, backward, dtype, device)}), flush=True)
        faulthandler.cancel_dump_traceback_later()
    print(json.dumps({"done": True}), flush=True)


def measure_case(
    torch: Any, shapes: Any, run: object, exact: object, backward: bool, dtype: str, device: str
) -> dict[str, object]:
    """The errors of value and gradients, and the time of the first call; or the error that it raised."""
    torch.manual_seed(0)
    inputs = [_make_input(torch, shape).to(getattr(torch, dtype)) for shape in shapes]
    try:
        began = time.perf_counter()
        got = _compute_values(torch, run, [tensor.to(device) for tensor in inputs], backward)
        elapsed_ms = (time.perf_counter() - began) * 1e3
        wanted = _compute_values(torch, exact, [tensor.double() for tensor in inputs], backward)
    except Exception as error:  # noqa: BLE001 - the text goes into the report
        lines = str(error).strip().splitlines()
        return {"error": f"{type(error).__name__}: {lines[0] if lines else ''}"[:500]}
    errors = [_relative_error(torch, mine, exact_value) for mine, exact_value in zip(got, wanted)]
    finite = all(bool(torch.isfinite(tensor).all()) for tensor in got)
    row: dict[str, object] = {"first_call_ms": elapsed_ms, "forward_error": errors[0], "finite": finite}
    if backward:
        row["backward_error"] = max(errors[1:], key=float)
    return row


def _compute_values(torch: Any, run: Any, inputs: list[Any], backward: bool) -> list[object]:
    """The result and, with `backward`, the gradients of a weighted sum of it; on the CPU, in float64. The weights are
    eighths with a positive mean: exact in every dtype, and their sums do not cancel."""
    leaves = [tensor.clone().requires_grad_(backward) for tensor in inputs]
    result = run(*leaves)
    if backward:
        weights = ((torch.arange(result.numel()) * 7 % 11) - 3).double().div(8).reshape(result.shape)
        result.backward(weights.to(result.dtype).to(result.device))
    results = [result, *(leaf.grad for leaf in leaves)] if backward else [result]
    return [tensor.detach().cpu().double() for tensor in results]


def _relative_error(torch: object, mine: Any, wanted: Any) -> float | str:
    if mine.shape != wanted.shape:
        return "inf"
    scale = wanted.abs().max().clamp_min(1e-12)
    error = float(((mine - wanted).abs().max() / scale).item())
    return error if error == error and error != float("inf") else "inf"


def _make_input(torch: Any, shape: tuple[object, ...]) -> Any:
    if shape[-1] == "+":
        return torch.rand(shape[:-1], dtype=torch.float64) + 0.5
    return torch.randn(shape, dtype=torch.float64)


def _make_index(torch: Any, like: Any, shape: tuple[int, ...], below: int) -> object:
    """The same places on every device."""
    count = 1
    for size in shape:
        count *= size
    return (torch.arange(count) * 7 % below).reshape(shape).to(like.device)


if __name__ == "__main__":
    sys.path = [entry for entry in sys.path if entry != sys.path[0]]
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
