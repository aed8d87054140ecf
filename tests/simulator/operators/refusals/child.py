"""Runs every call of refused.py, refused_lists.py and accepted.py on the simulated NPU; prints one JSON line per call.

Started by path, in the simulator's environment, by test_refusals.py.
"""

from __future__ import annotations

import copy
import json
import warnings
from typing import Any, Callable

import torch
import torch.nn.functional as F
import torch_npu
from accepted import ACCEPTED
from refused import REFUSED
from refused_lists import REFUSED_LISTS

f16, bf16, f32, f64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
i8, u8, i16, i32, i64, boolean = torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool
c64, c128 = torch.complex64, torch.complex128


def cpu(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype)


def x(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return cpu(dtype, *shape).npu()


def nine() -> torch.Tensor:
    return x(f32, *[1] * 9)


def grad(function: Callable[..., torch.Tensor], *tensors: torch.Tensor) -> None:
    """Forward, which must pass, then backward."""
    for tensor in tensors:
        tensor.requires_grad_(tensor.is_floating_point())
    function(*tensors).sum().backward()


def xs(dtype: torch.dtype) -> list[torch.Tensor]:
    return [x(dtype, 3), x(dtype, 2, 2)]


def train(dtype: torch.dtype, optimizer: str, **options: Any) -> None:
    """Two steps of a small model, with gradients set to zero and clipped by operators on lists."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4)).npu().to(dtype)
    chosen = getattr(torch.optim, optimizer)(model.parameters(), **options)
    for _ in range(2):
        chosen.zero_grad(set_to_none=False)
        model(x(dtype, 2, 4)).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        chosen.step()


def fused_adamw(tensors: list[torch.Tensor]) -> None:
    """One update of the tensors by their own values."""
    steps = [x(f32, 1) for _ in tensors]
    torch._fused_adamw_(
        tensors,
        *([tensor.clone() for tensor in tensors] for _ in range(3)),
        [],
        steps,
        lr=0.1,
        beta1=0.9,
        beta2=0.99,
        weight_decay=0.0,
        eps=1e-8,
        amsgrad=False,
        maximize=False,
    )


def train_scaled() -> None:
    """float16 under autocast, with GradScaler."""
    model, scaler = torch.nn.Linear(4, 4).npu(), torch.amp.GradScaler("npu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.autocast("npu", torch.float16):
        loss = model(x(f32, 2, 4)).sum()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()


NAMES = {
    "copy": copy,
    "torch": torch,
    "F": F,
    **{n: v for n, v in globals().items() if isinstance(v, torch.dtype)},
    "cpu": cpu,
    "fused_adamw": fused_adamw,
    "grad": grad,
    "torch_npu": torch_npu,
    "train": train,
    "train_scaled": train_scaled,
    "x": x,
    "xs": xs,
    "nine": nine,
}


def outcome(call: str) -> dict[str, Any]:
    try:
        eval(call, dict(NAMES))
        torch.npu.synchronize()
    except Exception as error:  # noqa: BLE001  the error is what is asked for
        return {
            "call": call,
            "error": type(error).__name__,
            "runtime": isinstance(error, RuntimeError),
            "said": str(error),
        }
    return {"call": call, "error": "", "runtime": False, "said": ""}


def main() -> None:
    warnings.simplefilter("ignore")
    for call in [*(call for call, _, _ in [*REFUSED, *REFUSED_LISTS]), *ACCEPTED]:
        print("CALL " + json.dumps(outcome(call)), flush=True)
    torch.zeros(1, device="npu").add_(1).item()
    print("CALL " + json.dumps({"call": "the device after all refusals", "error": "", "runtime": False, "said": ""}))


if __name__ == "__main__":
    main()
