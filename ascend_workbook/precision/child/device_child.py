"""One recorded operator run again on a device, from one side's saved inputs: in the dtypes of the dump, in float32 and,
where the device can, in float64; held against float64 on the CPU. Of a backward the whole is run: every gradient of an
input. Loaded by replay_child.py, whose Side does the work; torch_npu is there where the environment makes torch load
it.
"""

from __future__ import annotations

import math
from typing import Any

import torch


def answer(side: Any, make_given: Any, job: dict[str, Any], relative: Any, failures: Any) -> dict[str, Any]:
    """{"saved": error, "float32": error, "float64": error or null} of the worst tensor, or {"failed": why}."""
    failing = (*failures, AssertionError)  # torch says with an AssertionError that a device is not there
    try:
        truth = _run_operator(side, job["name"], make_given(0.0, _is_backward(job["name"])))
        kinds = {"saved": None, "float32": torch.float32}
        errors = {kind: _measure_error(side, make_given, job, truth, relative, dtype) for kind, dtype in kinds.items()}
    except failing as cause:
        return {"failed": f"{type(cause).__name__}: {str(cause).splitlines()[0] if str(cause) else ''}"}
    try:  # an NPU computes few operators in float64
        return {**errors, "float64": _measure_error(side, make_given, job, truth, relative, torch.float64)}
    except failing:
        return {**errors, "float64": None}


def _measure_error(
    side: Any, make_given: Any, job: dict[str, Any], truth: list[torch.Tensor], relative: Any, dtype: torch.dtype | None
) -> float:
    run = make_given(0.0, _is_backward(job["name"]), None, job["device"], dtype)
    return _worst_error(_run_operator(side, job["name"], run), truth, relative)


def _is_backward(name: str) -> bool:
    return name.endswith(".backward")


def _run_operator(side: Any, name: str, run: Any) -> list[torch.Tensor]:
    """Floating outputs of a forward, gradients of a backward, on the CPU."""
    result = side.forward(name, run)
    if run.track:
        side.turn(result, side.data[name], run)
        tensors = [leaf.grad for leaf, _ in run.leaves.values()]
    else:
        tensors = list(result) if isinstance(result, (tuple, list)) else [result]
    return [item.detach().cpu() for item in tensors if isinstance(item, torch.Tensor) and item.is_floating_point()]


def _worst_error(outputs: list[torch.Tensor], truth: list[torch.Tensor], relative: Any) -> float:
    if len(outputs) != len(truth) or not truth:
        raise ValueError("the device gives other outputs")
    return max((relative(mine, right) for mine, right in zip(outputs, truth)), default=math.inf)
