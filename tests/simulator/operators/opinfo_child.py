"""Runs torch's own operator database on the simulated NPU and on the CPU; prints one JSON line per entry.

Started by path, in the simulator's environment, by test_opinfo.py. Each entry's first four float32 samples run on
both; `outcome` is `equal`, `alike` (random or uninitialised: shape, dtype and device compared), `mismatch` or
`raises`.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import torch
from torch.testing._internal import common_methods_invocations as database
from torch.utils._pytree import tree_flatten, tree_map

SAMPLES = 4
TOLERANCE = 1e-4

#: Entries that draw numbers; a sample is random where two calls on the CPU, differently seeded, differ.
RANDOM = {
    "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "rand_like",
    "randint", "randint_like", "randn", "randn_like", "uniform", "nn.functional.alpha_dropout",
    "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d",
    "nn.functional.feature_alpha_dropout", "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d", "nn.functional.multi_head_attention_forward", "nn.functional.rrelu",
    "nn.functional.scaled_dot_product_attention",
}
#: The result is whatever the memory held.
UNINITIALISED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
#: torch_npu's own `_to_copy` gives float32 where float64 is asked for, with the warning "Device do not support double
#: dtype now" (torch_npu/csrc/aten/common/ToKernelNpu.cpp).
DOUBLE_BECOMES_FLOAT = {"double", "float_power"}
#: The operator's contract wants this argument on the CPU, on every device ("expected ... to be on cpu").
INDICES_STAY_ON_CPU = {"tensor_split"}


def on_npu(value: Any) -> Any:
    """The value with its tensors on the NPU; a view keeps the storage around it (as_strided reads beyond the view)."""
    if isinstance(value, (str, torch.device)) and str(value) == "cpu":
        return "npu"
    if not isinstance(value, torch.Tensor):
        return value
    if value.layout != torch.strided or value.is_conj() or value.is_neg():
        return value.npu()
    whole = torch.empty(0, dtype=value.dtype).set_(value.untyped_storage())
    return whole.npu().as_strided(value.size(), value.stride(), value.storage_offset())


def arguments_on_npu(op: Any, sample: Any) -> tuple[Any, Any, Any]:
    moved = tree_map(on_npu, sample.input)
    if op.name in INDICES_STAY_ON_CPU:
        return moved, sample.args, sample.kwargs
    return moved, tree_map(on_npu, sample.args), tree_map(on_npu, sample.kwargs)


def call_on_npu(op: Any, given: tuple[Any, Any, Any]) -> Any:
    if any(isinstance(leaf, torch.Tensor) for leaf in tree_flatten(given)[0]):
        return op(given[0], *given[1], **given[2])
    with torch.device("npu"):  # a factory: its tensors come from the default device
        return op(given[0], *given[1], **given[2])


def expected_of(op: Any, result: Any) -> Any:
    if op.name not in DOUBLE_BECOMES_FLOAT:
        return result
    return tree_map(lambda t: t.float() if isinstance(t, torch.Tensor) and t.dtype == torch.float64 else t, result)


def copied(value: Any) -> Any:
    return tree_map(lambda t: t.clone() if isinstance(t, torch.Tensor) else t, value)


def call_on_cpu(op: Any, sample: Any, seed: int) -> Any:
    torch.manual_seed(seed)
    args = (sample.input, sample.args, sample.kwargs)
    given = args if op.name.startswith("as_strided") else copied(args)
    return op(given[0], *given[1], **given[2])


def differ(actual: Any, expected: Any) -> str:
    try:
        torch.testing.assert_close(actual, expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    except AssertionError as error:
        return str(error).split("\n\n")[0].replace("\n", " ")
    except TypeError:  # values that assert_close does not know: tuples of sizes, dtypes, ...
        return "" if repr(actual) == repr(expected) else f"{actual!r} is not {expected!r}"
    return ""


def unlike(actual: Any, expected: Any) -> str:
    """How shapes, dtypes or the structure differ; empty if they do not."""
    ours, theirs = tree_flatten(actual), tree_flatten(expected)
    if str(ours[1]) != str(theirs[1]):
        return f"structure {ours[1]} is not {theirs[1]}"
    described = [[(t.shape, t.dtype) for t in flat[0] if isinstance(t, torch.Tensor)] for flat in (ours, theirs)]
    return "" if described[0] == described[1] else f"{described[0]} is not {described[1]}"


def astray(result: Any) -> str:
    """The device of a result that has left the NPU."""
    places = {str(leaf.device) for leaf in tree_flatten(result)[0] if isinstance(leaf, torch.Tensor)}
    return ", ".join(sorted(place for place in places if not place.startswith("npu")))


def check_sample(op: Any, sample: Any) -> tuple[str, str]:
    given = arguments_on_npu(op, sample)
    try:
        expected = expected_of(op, call_on_cpu(op, sample, seed=0))
        again = expected_of(op, call_on_cpu(op, sample, seed=1))
    except Exception as error:  # noqa: BLE001  the CPU has no result to compare with, whatever the reason
        return "skipped", str(error)
    result = call_on_npu(op, given)
    wrong = astray(result)
    if wrong:
        return "mismatch", f"a result on {wrong}"
    actual = tree_map(lambda t: t.cpu() if isinstance(t, torch.Tensor) else t, result)
    if op.name in UNINITIALISED or (op.name in RANDOM and differ(again, expected)):
        wrong = unlike(actual, expected)
        return ("mismatch", wrong) if wrong else ("alike", "")
    wrong = differ(actual, expected)
    return ("mismatch", wrong) if wrong else ("equal", "")


def check(op: Any) -> tuple[str, str]:
    outcomes = []
    torch.manual_seed(0)
    for index, sample in enumerate(op.sample_inputs("cpu", torch.float32, requires_grad=False)):
        if index == SAMPLES:
            break
        try:
            outcome, why = check_sample(op, sample)
        except Exception as error:  # noqa: BLE001  whatever an operator raises is its outcome
            return "raises", f"{type(error).__name__}: {str(error).splitlines()[0]}"
        if outcome == "mismatch":
            return outcome, f"sample {index}: {why}"
        outcomes.append(outcome)
    order = ("alike", "equal", "skipped")
    return next((outcome for outcome in order if outcome in outcomes), "skipped"), ""


def without_fixed_seeds() -> None:
    """The database wraps random operators so that each call is seeded alike; then none would look random."""
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.testing._internal.") and hasattr(module, "wrapper_set_seed"):
            module.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)


def main() -> None:
    warnings.simplefilter("ignore")
    wanted = set(sys.argv[1:])
    without_fixed_seeds()
    for op in database.op_db:
        if torch.float32 not in op.supported_dtypes("cpu") or (wanted and op.name not in wanted):
            continue
        outcome, why = check(op)
        entry = {"name": op.name, "variant": op.variant_test_name, "outcome": outcome, "why": why}
        print("OPINFO " + json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
