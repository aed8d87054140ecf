"""A second reference beside the CPU: torch's own NumPy formulas in float64, else the CPU on contiguous float64 copies.

The CPU's kernels compute the simulated NPU's results, so a fault of theirs is on both sides of the first comparison.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy
import torch
from torch.testing._internal.opinfo import core
from torch.utils._pytree import tree_flatten, tree_map

from .placing import tensors_in

if TYPE_CHECKING:
    from torch.testing._internal.opinfo.core import OpInfo, SampleInput

NUMPY, FLOAT64 = "numpy", "float64"
#: Formulas of torch's database that compute something else than the entry: other defaults (correction, norm).
OTHER_FORMULA = {"std", "var", "fft.ihfft2"}
#: The result depends on how the input lies in memory.
BY_LAYOUT = {"as_strided", "as_strided_copy", "as_strided_scatter"}
#: Several results are right: signs and order of vectors, singular values near zero, ties.
NOT_UNIQUE = {"argsort", "sort", "geqrf", "linalg.eig", "linalg.eigh", "linalg.eigvals", "linalg.qr", "qr", "pinverse"}
#: Relative to the value, and to the largest value of the result: float32 sums of a few thousand terms stay below it.
TOLERANCE = 1e-4
#: What is left where a sum cancels to nothing, of inputs about 1 to 10.
SMALLEST = 1e-6
WIDER = {torch.float32: torch.float64, torch.complex64: torch.complex128}
EXACT = (torch.float32, torch.complex64, torch.int64, torch.bool, torch.float64)


def compare_with_second(op: OpInfo, sample: SampleInput, actual: Any) -> tuple[str, str]:
    """Return which second reference the result was held against (empty: none), and how it differs (empty: it does
    not). Results in half precision are held against none."""
    results = [tensor.detach() for tensor in tensors_in(actual)]
    judged = all(tensor.dtype in EXACT and tensor.layout == torch.strided for tensor in results)
    if not results or not judged or op.name in BY_LAYOUT | NOT_UNIQUE:
        return "", ""
    for name, compute in ((NUMPY, _compute_by_numpy), (FLOAT64, _compute_in_float64)):
        try:
            expected = compute(op, sample)
        except Exception:  # noqa: BLE001  a formula that does not take the sample is no reference for it
            continue
        if expected is not None and [tuple(t.shape) for t in expected] == [tuple(t.shape) for t in results]:
            return name, next(filter(None, map(_describe_difference, results, expected)), "")
    return "", ""


def _compute_by_numpy(op: OpInfo, sample: SampleInput) -> list[torch.Tensor] | None:
    formula = getattr(op, "ref", None)
    if formula is None or formula is NotImplemented or formula is core._NOTHING or op.name in OTHER_FORMULA:
        return None
    if any(tensor.dtype == torch.bool for tensor in tensors_in((sample.input, sample.args))):
        return None  # NumPy computes what is made of booleans in float16
    arrays = sample.transform(_widen).numpy()
    with numpy.errstate(all="ignore"):
        results = formula(arrays.input, *arrays.args, **arrays.kwargs)
    return [torch.as_tensor(numpy.asarray(part)) for part in tree_flatten(results)[0]]


def _compute_in_float64(op: OpInfo, sample: SampleInput) -> list[torch.Tensor] | None:
    input, args, kwargs = tree_map(_widen, (sample.input, tuple(sample.args), sample.kwargs))
    with torch.no_grad():
        return tensors_in(op(input, *args, **kwargs))


def _widen(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    plain = value.detach().resolve_conj().resolve_neg()
    return plain.to(WIDER.get(plain.dtype, plain.dtype)).clone(memory_format=torch.contiguous_format)


def _describe_difference(actual: torch.Tensor, expected: torch.Tensor) -> str:
    wide = torch.complex128 if actual.is_complex() or expected.is_complex() else torch.float64
    values, wanted = actual.to(wide), expected.to(wide)
    if wide == torch.float64:  # what float32 cannot hold is infinite there
        wanted = wanted.to(actual.dtype).to(wide) if actual.dtype == torch.float32 else wanted
    finite = wanted[torch.isfinite(wanted)].abs()
    scale = float(finite.max()) if finite.numel() else 0.0
    close = torch.isclose(values, wanted, rtol=TOLERANCE, atol=TOLERANCE * scale + SMALLEST, equal_nan=True)
    if actual.dtype in (torch.int64, torch.bool):
        close = values == wanted
    if bool(close.all()):
        return ""
    at = int((~close).flatten().to(torch.int8).argmax())
    number = int((~close).sum())
    place = [] if not actual.dim() else [int(i) for i in torch.unravel_index(torch.tensor(at), actual.shape)]
    value, reference = values.flatten()[at].item(), wanted.flatten()[at].item()
    return f"{number} of {math.prod(actual.shape)} values differ, at {place}: {value:.6g}, reference {reference:.6g}"
