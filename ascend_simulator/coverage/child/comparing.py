"""Whether two results are the same: structure, shapes, data types, then values within the data type's tolerance."""

from __future__ import annotations

import math
from typing import Any, Callable

import torch
from torch.utils._pytree import tree_flatten

from .placing import tensors_in

#: Relative and absolute, the same number. The CPU's own kernels compute both sides; what differs is the order of a sum
#: where strides or alignment choose another loop. Integers and bool are exact.
TOLERANCES = {
    torch.float64: 1e-7,
    torch.complex128: 1e-7,
    torch.float32: 1e-5,
    torch.complex64: 1e-5,
    torch.float16: 1e-3,
    torch.complex32: 1e-3,
    torch.bfloat16: 1e-2,
}
DRAWS = 48
#: Standard errors between two means before they count as different: once in 10^8 comparisons by chance.
SIGMAS = 6.0


def compare_results(actual: Any, expected: Any, looser: float = 1.0) -> str:
    """Return how two results differ, in one line; empty where they do not. `looser` multiplies the tolerances."""
    wrong = compare_structure(actual, expected)
    if wrong:
        return wrong
    parts = zip(tree_flatten(actual)[0], tree_flatten(expected)[0])
    return next(filter(None, (_compare_parts(*pair, looser) for pair in parts)), "")


def _compare_parts(actual: Any, expected: Any, looser: float) -> str:
    if not isinstance(expected, torch.Tensor):
        same = repr(actual) == repr(expected) or actual == expected or _are_close(actual, expected)
        return "" if same else f"{actual!r} is not {expected!r}"
    tolerance = looser * TOLERANCES.get(expected.dtype, 0.0)
    try:
        torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    except AssertionError as error:
        return " ".join(str(error).split())
    return ""


def _are_close(actual: Any, expected: Any) -> bool:
    numbers = isinstance(actual, (float, complex)) and type(actual) is type(expected)
    return numbers and abs(actual - expected) <= TOLERANCES[torch.float32] * max(1.0, abs(expected))


def compare_structure(actual: Any, expected: Any) -> str:
    """Return how structure, shapes or data types differ; empty if they do not."""
    actual_tree, expected_tree = tree_flatten(actual), tree_flatten(expected)
    if str(actual_tree[1]) != str(expected_tree[1]):
        return f"structure {actual_tree[1]} is not {expected_tree[1]}"
    described = [[(tuple(t.shape), t.dtype) for t in tensors_in(result)] for result in (actual, expected)]
    return "" if described[0] == described[1] else f"{described[0]} is not {described[1]}"


def drawn_differently(draw_on_npu: Callable[[int], Any], draw_on_cpu: Callable[[int], Any]) -> str:
    """Compare the first two moments of what two generators draw, by seed; empty where they agree.

    Values are squeezed into (-1, 1) first, so that heavy tails (cauchy) have moments too.
    """
    npu_moments = [_compute_moments(draw_on_npu(seed)) for seed in range(DRAWS)]
    cpu_moments = [_compute_moments(draw_on_cpu(seed + DRAWS)) for seed in range(DRAWS)]
    for which, name in enumerate(("mean", "mean square")):
        columns = [
            torch.tensor([row[which] for row in rows], dtype=torch.float64) for rows in (npu_moments, cpu_moments)
        ]
        mean, wanted = (column.mean().item() for column in columns)
        error, wanted_error = (column.std().item() / math.sqrt(DRAWS) for column in columns)
        allowed = SIGMAS * math.hypot(error, wanted_error) + 1e-6
        if abs(mean - wanted) > allowed:
            return f"{name} of {DRAWS} draws {mean:.4g} is not {wanted:.4g} (allowed {allowed:.2g})"
    return ""


def _compute_moments(result: Any) -> tuple[float, float]:
    parts = [torch.view_as_real(t.cpu()) if t.is_complex() else t.cpu() for t in tensors_in(result)]
    if not any(part.numel() for part in parts):
        return 0.0, 0.0
    flat = torch.cat([part.detach().double().flatten() for part in parts]).nan_to_num(posinf=1e30, neginf=-1e30)
    squeezed = flat / (1 + flat.abs())
    return squeezed.mean().item(), squeezed.square().mean().item()
