"""The data: batches of the same samples in another order told apart from other samples; settings of data loaders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.experiment.discrepancy import Discrepancy
from ascend_workbook.precision.experiment.told import experiment_part, same_values

#: A batch that was computed on the device differs by rounding, which is no other data.
ROUNDING = 1e-3
LOADER = ("dataset", "length", "sampler", "batch_size", "drop_last", "seed", "generator")


def compare_data(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Discrepancy]:
    yield from _compare_loaders(experiment_part(left, "loaders") or [], experiment_part(right, "loaders") or [])
    left_batches, other = left.get("batches") or {}, right.get("batches") or {}
    common = sorted(left_batches.keys() & other.keys(), key=_step_number)
    differ = [step for step in common if left_batches[step] != other[step]]
    left_details, told_right = experiment_part(left, "batches") or {}, experiment_part(right, "batches") or {}
    near = [step for step in differ if _differ_by_rounding(step, left_batches, other, left_details, told_right)]
    if near:
        yield Discrepancy("batches_near", near[0], None, None, {"count": len(near), "of": len(common)}, decides=False)
    differ = [step for step in differ if step not in near]
    if differ:
        yield _describe_difference(differ, common, left_batches, other, left_details, told_right)


def _describe_difference(
    differ: list[str], common: list[str], left_batches: Any, right_batches: Any, left_details: Any, right_details: Any
) -> Discrepancy:
    step = differ[0]
    args: dict[str, Scalar] = {"count": len(differ), "of": len(common)}
    kinds = [[text.rpartition(":")[0] for text in side[step]] for side in (left_batches, right_batches)]
    if kinds[0] != kinds[1]:
        return Discrepancy("batch_shapes", step, kinds[0], kinds[1], args)
    rows, others = ([_sample_rows(side.get(name)) for name in common] for side in (left_details, right_details))
    if not all(rows) or not all(others):
        return Discrepancy("batches", step, left_batches[step], right_batches[step], args)
    at = common.index(step)
    within = Counter(rows[at]) == Counter(others[at])
    whole, whole_right = (Counter(row for batch in side for row in batch) for side in (rows, others))
    args["shared"] = sum((whole & whole_right).values())
    args["samples"] = sum(whole.values())
    if within or whole == whole_right:
        args["where"] = Sentence(f"ACC205.order_{'within' if within else 'across'}")
        return Discrepancy("order", step, left_batches[step], right_batches[step], args)
    return Discrepancy("samples", step, left_batches[step], right_batches[step], args)


def _sample_rows(batch: Any) -> list[tuple[str, ...]]:
    """Each sample's fingerprints over all tensors of the batch that have one row per sample."""
    columns = [tensor["samples"] for tensor in batch or () if tensor["samples"]]
    most = max(map(len, columns), default=0)
    return list(zip(*(column for column in columns if len(column) == most)))


def _differ_by_rounding(
    step: str, left_batches: Any, right_batches: Any, left_details: Any, right_details: Any
) -> bool:
    """Whether floating tensors alone differ: by rounding, or in a later step beside others that are the same, as what
    a model hands on from step to step (a hidden state) does."""
    left, right = left_batches[step], right_batches[step]
    if len(left) != len(right):
        return False
    differ = [at for at in range(len(left)) if left[at] != right[at]]
    if any(left[at].rpartition(":")[0] != right[at].rpartition(":")[0] or "float" not in left[at] for at in differ):
        return False
    if step != "0" and 0 not in differ:
        return True
    numbers, others = ([tensor["numbers"] for tensor in side.get(step, ())] for side in (left_details, right_details))
    return len(numbers) == len(others) == len(left) and all(_are_close(numbers[at], others[at]) for at in differ)


def _are_close(left: list[float | None], right: list[float | None]) -> bool:
    """Norm and kept values within ROUNDING of the largest of them, the norm within its own."""
    if not left or len(left) != len(right) or None in left or None in right:
        return False
    values = [(a, b) for a, b in zip(left, right) if a is not None and b is not None]
    largest = max(abs(a) for a, _ in values[1:]) if len(values) > 1 else 0.0
    norm = abs(values[0][0] - values[0][1]) <= ROUNDING * abs(values[0][0])
    return norm and all(abs(a - b) <= ROUNDING * largest for a, b in values[1:])


def _compare_loaders(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> Iterator[Discrepancy]:
    for at, (loader, other) in enumerate(zip(left, right)):
        for name in LOADER:
            if name in loader and name in other and not same_values(loader[name], other[name]):
                yield Discrepancy("loader", f"{at}.{name}", loader[name], other[name])
    if len(left) != len(right):
        yield Discrepancy("loaders", "-", len(left), len(right), decides=False)


def _step_number(step: str) -> int:
    return int(step) if step.isdigit() else 0
