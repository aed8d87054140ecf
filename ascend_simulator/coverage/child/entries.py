"""One entry of torch's operator database, one data type, one direction: samples on the CPU and on the simulated NPU."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import random
import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from . import comparing, directions, placing, second

if TYPE_CHECKING:
    from torch._ops import OpOverload
    from torch.testing._internal.opinfo.core import OpInfo, SampleInput

#: Entries that draw numbers; a sample is random where two calls on the CPU, differently seeded, differ.
RANDOM = {
    *("bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "uniform"),
    *("pca_lowrank", "rand_like", "randint", "randint_like", "randn", "randn_like", "svd_lowrank"),
    *(f"nn.functional.{name}" for name in ("dropout", "dropout2d", "dropout3d", "alpha_dropout", "rrelu")),
    *(f"nn.functional.{name}" for name in ("feature_alpha_dropout", "fractional_max_pool2d", "fractional_max_pool3d")),
    *("nn.functional.multi_head_attention_forward", "nn.functional.scaled_dot_product_attention"),
}
#: Samples of an entry whose draws are compared by their moments; the others by shape, type, device and by seed.
MOMENTS = 2
#: The result is whatever the memory held.
UNINITIALISED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
#: torch_npu's own `_to_copy` gives float32 where float64 is asked for, with the warning "Device do not support double
#: dtype now" (torch_npu/csrc/aten/common/ToKernelNpu.cpp).
DOUBLE_BECOMES_FLOAT = {"double", "float_power", "to"}
#: Of halves too torch_npu allocates mean and rstd, all results but the first, as float32
#: (op_plugin/ops/opapi/LayerNormKernelNpuOpApi.cpp).
FLOAT_STATISTICS = {"native_layer_norm"}
#: How an NPU's refusals are worded: CANN's of an operator's parameter (161002), torch_npu's own of a parameter, value,
#: type or feature (torch_npu/csrc/core/npu/NPUException.h), the dispatcher's of a layout for which neither torch nor
#: torch_npu has a kernel, and torch's own of a device other than CPU and CUDA. What the stand-in CANN itself lacks is
#: worded otherwise.
REFUSED = re.compile(
    r"error code is 161002|ERR010(?:01|02|03|07) |with arguments from the '\w+npu' backend|device type, got: npu"
)
#: Where a refusal's documentation stands, as the simulator itself says it.
SOURCE = re.compile(r"\(https?://[^)]*\)")
#: Times the tolerance: the CPU has a fused kernel that other devices lack, and sums in another order.
OTHER_ALGORITHM = {"nn.functional.scaled_dot_product_attention": 10.0}

#: Ways to call whose result is one the second reference computes too.
SECOND = ("forward", "strided", "expanded")

Outcome = dict[str, Any]


def is_in(op: OpInfo, dtype: torch.dtype, direction: str) -> bool:
    """Whether the database has samples of this type that go this way."""
    if dtype not in op.supported_dtypes("cpu"):
        return False
    if direction == "backward":
        return bool(op.supports_autograd and dtype in op.supported_backward_dtypes("cpu"))
    if direction == "inplace":
        return op.inplace_variant is not None
    return bool(op.supports_out) if direction == "out" else direction in directions.CALLS


def check(op: OpInfo, dtype: torch.dtype, direction: str, most: int) -> Outcome:
    """Return the outcome of the entry's first `most` samples."""
    outcomes: list[str] = []
    seconds: set[str] = set()
    reasons: dict[str, str] = {}
    for generator in (torch.manual_seed, random.seed, numpy.random.seed):
        generator(0)
    for index, sample in enumerate(_make_samples(op, dtype, direction, most)):
        try:
            outcome, why, held = _check_sample(op, sample, direction, moments=outcomes.count("alike") < MOMENTS)
            seconds.add(held)
        except Exception as error:  # noqa: BLE001  whatever an operator raises is its outcome
            outcome, why = _judge_error(error)
        if outcome in ("mismatch", "doubtful", "raises"):
            return {"outcome": outcome, "reason": f"sample {index}: {why}", "operators": []}
        outcomes.append(outcome)
        reasons.setdefault(outcome, why)
    order = ("alike", "equal", "refused", "skipped")
    total = next((outcome for outcome in order if outcome in outcomes), "skipped")
    used = _record_operators(op, dtype, direction) if total in ("alike", "equal") else []
    counts = {outcome: outcomes.count(outcome) for outcome in order if outcome in outcomes}
    reason = _explain_outcome(total, counts, reasons)
    held = max(seconds, key=("", second.FLOAT64, second.NUMPY).index, default="")
    return {"outcome": total, "reason": reason, "samples": counts, "operators": used, "second": held}


def _explain_outcome(total: str, counts: dict[str, int], reasons: dict[str, str]) -> str:
    """Explain the outcome; where the entry passes, of how many of its samples that does not hold."""
    others = [outcome for outcome in ("refused", "skipped") if outcome in counts and outcome != total]
    words = {"refused": "refused", "skipped": "without a CPU result"}
    number = sum(counts.values())
    parts = [f"{counts[other]} of {number} samples {words[other]}: {reasons[other]}" for other in others]
    return "; ".join([reasons[total], *parts] if reasons.get(total) else parts)


def _make_samples(op: OpInfo, dtype: torch.dtype, direction: str, most: int) -> Iterator[SampleInput]:
    samples = op.sample_inputs("cpu", dtype, requires_grad=direction == "backward")
    for sample in itertools.islice(samples, most):
        options, halves = sample.kwargs.get("options"), (torch.float16, torch.bfloat16)
        if getattr(options, "acc_policy", "") == "auto" and sample.input.dtype in halves:
            # halves accumulate alike: torch's own choice is float32 on the CPU, the input's type elsewhere
            changed = dataclasses.replace(options, acc_policy="accurate", acc_dtype=sample.input.dtype)
            sample.kwargs = {**sample.kwargs, "options": changed}
        plain = all(tensor.layout == torch.strided for tensor in placing.tensors_in(sample.input))
        if direction not in ("strided", "expanded"):
            yield sample
        elif plain:  # torch's own noncontiguous() ends the process on a sparse tensor
            yield sample.noncontiguous() if direction == "strided" else sample.transform(_expand_first_row)


def _expand_first_row(value: Any) -> Any:
    """Return the tensor's first row in the place of all. Not of whole numbers: as indices, offsets and lengths equal
    ones may be no valid input."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.layout != torch.strided:
        return value
    return value.detach()[:1].expand_as(value) if value.dim() and value.size(0) > 1 else value


def _judge_error(error: Exception) -> tuple[str, str]:
    lines = [line for line in str(error).splitlines() if line.strip()] or [""]
    message = f"{type(error).__name__}: {lines[0]}"
    if not REFUSED.search(str(error)):
        return "raises", message
    message = next((line for line in lines if "EZ1001" in line), "").partition(": ")[2]
    message = message or lines[0].partition(" This could be because")[0]
    return "refused", " ".join([message, *SOURCE.findall(str(error))[:1]])


def _check_sample(op: OpInfo, sample: SampleInput, direction: str, *, moments: bool) -> tuple[str, str, str]:
    """Return the outcome, why, and which second reference the result was held against."""
    inputs = (sample.input, sample.args, sample.kwargs)
    call = directions.CALLS[direction]

    def call_on(device: str, seed: int) -> Any:
        torch.manual_seed(seed)
        with _factories_on(device, inputs):
            return _as_float32(op, call(op, sample, placing.arguments_on(device, op, inputs)))

    on_cpu, on_npu = partial(call_on, "cpu"), partial(call_on, "npu")
    try:
        expected = on_cpu(0)
        others = [on_cpu(seed) for seed in range(1, 5)] if op.name in RANDOM else []
    except Exception as error:  # noqa: BLE001  the CPU has no result to compare with, whatever the reason
        return "skipped", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", ""
    result = on_npu(0)
    wrong = placing.find_astray(result)
    if wrong:
        return "mismatch", f"a result on {wrong}", ""
    actual = placing.on_cpu(result)
    expected = placing.on_cpu(expected)
    if op.name in UNINITIALISED:
        wrong = comparing.compare_structure(actual, expected)
        return ("mismatch", wrong, "") if wrong else ("alike", "uninitialised memory", "")
    if any(comparing.compare_results(placing.on_cpu(other), expected) for other in others):
        wrong = comparing.compare_structure(actual, expected)
        wrong = wrong or comparing.compare_results(placing.on_cpu(on_npu(0)), actual)
        wrong = wrong or (comparing.drawn_differently(on_npu, on_cpu) if moments else "")
        return ("mismatch", wrong, "") if wrong else ("alike", "random numbers", "")
    looser = OTHER_ALGORITHM.get(op.name, 1.0)
    wrong = comparing.compare_results(actual, expected, looser)
    if wrong and _rounded_once(op, call, sample, actual, expected, looser):
        wrong = ""
    judged = direction in SECOND and op.name not in RANDOM
    held, doubt = second.compare_with_second(op, sample, actual) if judged else ("", "")
    if doubt:
        return ("mismatch", wrong, held) if wrong else ("doubtful", f"as on the CPU, but {held}: {doubt}", held)
    if wrong and held and second.compare_with_second(op, sample, expected)[1]:
        return "equal", f"{held}'s result; the CPU's own kernel is wrong here", held
    return ("mismatch", wrong, held) if wrong else ("equal", "", held)


def _rounded_once(
    op: OpInfo, call: directions.Call, sample: SampleInput, actual: Any, expected: Any, looser: float
) -> bool:
    """Return whether a half-precision result is the CPU's float32 result, rounded once. The CPU's own half kernels may
    round in between; an NPU sums products and convolutions in float32."""
    inputs = (sample.input, sample.args, sample.kwargs)
    if not any(tensor.dtype in (torch.float16, torch.bfloat16) for tensor in placing.tensors_in(inputs)):
        return False
    torch.manual_seed(0)
    try:
        wide = call(op, sample, placing.widen_inputs(placing.arguments_on("cpu", op, inputs)))
    except Exception:  # noqa: BLE001  no float32 result to hold it against: the difference stands
        return False
    like, exact = placing.tensors_in(expected), placing.tensors_in(placing.on_cpu(_as_float32(op, wide)))
    if len(like) != len(exact):
        return False
    dtypes = [tensor.dtype for tensor in like]
    if op.name in FLOAT_STATISTICS:
        dtypes[1:] = [torch.float32] * len(dtypes[1:])
    rounded = [value.to(dtype) for value, dtype in zip(exact, dtypes)]
    return not comparing.compare_results(placing.tensors_in(actual), rounded, looser)


def _factories_on(device: str, inputs: placing.Given) -> contextlib.AbstractContextManager[Any]:
    """Set where a call without any tensor (arange, linspace) makes its result."""
    return contextlib.nullcontext() if placing.tensors_in(inputs) else torch.device(device)


def _as_float32(op: OpInfo, result: Any) -> Any:
    """Return float64 as float32, on both sides: which of the two it is depends on the road that torch_npu takes."""
    if op.name not in DOUBLE_BECOMES_FLOAT:
        return result
    return tree_map(lambda t: t.float() if isinstance(t, torch.Tensor) and t.dtype == torch.float64 else t, result)


class _Recorder(TorchDispatchMode):  # type: ignore[misc]  # torch is not typed here
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: OpOverload, types: object, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if any(tensor.device.type == "npu" for tensor in placing.tensors_in((args, kwargs, result))):
            name, overload = func._schema.name, func._schema.overload_name
            self.names.add(f"{name}.{overload}" if overload else name)
        return result


def _record_operators(op: OpInfo, dtype: torch.dtype, direction: str) -> list[str]:
    """Return the operators that the first sample ran on the NPU."""
    for sample in _make_samples(op, dtype, direction, 1):
        inputs = placing.arguments_on("npu", op, (sample.input, sample.args, sample.kwargs))
        try:
            with _Recorder() as recorder, _factories_on("npu", inputs):
                directions.CALLS[direction](op, sample, inputs)
        except Exception:  # noqa: BLE001  a mode above it changes some operators' road; then it is not known
            return []
        return sorted(recorder.names)
    return []
