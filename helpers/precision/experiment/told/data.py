"""The data: batches of the same samples in another order told apart from other samples; settings of data loaders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from helpers.precision.experiment.discrepancy import Discrepancy
from helpers.precision.experiment.told import part, same
from helpers.words import Scalar

#: A batch that was computed on the device differs by rounding, which is no other data.
ROUNDING = 1e-3
LOADER = ("dataset", "length", "sampler", "batch_size", "drop_last", "seed", "generator")


def look(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Discrepancy]:
    yield from _loaders(part(left, "loaders") or [], part(right, "loaders") or [])
    one, other = left.get("batches") or {}, right.get("batches") or {}
    common = sorted(one.keys() & other.keys(), key=_number)
    differ = [step for step in common if one[step] != other[step]]
    told, told_right = part(left, "batches") or {}, part(right, "batches") or {}
    near = [step for step in differ if _near(step, one, other, told, told_right)]
    if near:
        yield Discrepancy("batches_near", near[0], None, None, {"count": len(near), "of": len(common)}, decides=False)
    differ = [step for step in differ if step not in near]
    if differ:
        yield _difference(differ, common, one, other, told, told_right)


def _difference(differ: list[str], common: list[str], one: Any, other: Any, told: Any, told_right: Any) -> Discrepancy:
    step = differ[0]
    args: dict[str, Scalar] = {"count": len(differ), "of": len(common)}
    kinds = [[text.rpartition(":")[0] for text in side[step]] for side in (one, other)]
    if kinds[0] != kinds[1]:
        return Discrepancy("batch_shapes", step, kinds[0], kinds[1], args)
    rows, others = ([_rows(side.get(name)) for name in common] for side in (told, told_right))
    if not all(rows) or not all(others):
        return Discrepancy("batches", step, one[step], other[step], args)
    at = common.index(step)
    within = Counter(rows[at]) == Counter(others[at])
    whole, whole_right = (Counter(row for batch in side for row in batch) for side in (rows, others))
    args["shared"] = sum((whole & whole_right).values())
    args["samples"] = sum(whole.values())
    if within or whole == whole_right:
        args["where"] = {"say": f"ACC205.order_{'within' if within else 'across'}"}
        return Discrepancy("order", step, one[step], other[step], args)
    return Discrepancy("samples", step, one[step], other[step], args)


def _rows(batch: Any) -> list[tuple[str, ...]]:
    """Each sample's fingerprints over all tensors of the batch that have one row per sample."""
    columns = [one["samples"] for one in batch or () if one["samples"]]
    most = max(map(len, columns), default=0)
    return list(zip(*(column for column in columns if len(column) == most)))


def _near(step: str, one: Any, other: Any, told: Any, told_right: Any) -> bool:
    """Whether floating tensors alone differ: by rounding, or in a later step beside others that are the same, as what
    a model hands on from step to step (a hidden state) does."""
    left, right = one[step], other[step]
    if len(left) != len(right):
        return False
    differ = [at for at in range(len(left)) if left[at] != right[at]]
    if any(left[at].rpartition(":")[0] != right[at].rpartition(":")[0] or "float" not in left[at] for at in differ):
        return False
    if step != "0" and 0 not in differ:
        return True
    numbers, others = ([each["numbers"] for each in side.get(step, ())] for side in (told, told_right))
    return len(numbers) == len(others) == len(left) and all(_close(numbers[at], others[at]) for at in differ)


def _close(one: list[float | None], other: list[float | None]) -> bool:
    """Norm and kept values within ROUNDING of the largest of them, the norm within its own."""
    if not one or len(one) != len(other) or None in one or None in other:
        return False
    values = [(a, b) for a, b in zip(one, other) if a is not None and b is not None]
    largest = max(abs(a) for a, _ in values[1:]) if len(values) > 1 else 0.0
    norm = abs(values[0][0] - values[0][1]) <= ROUNDING * abs(values[0][0])
    return norm and all(abs(a - b) <= ROUNDING * largest for a, b in values[1:])


def _loaders(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> Iterator[Discrepancy]:
    for at, (one, other) in enumerate(zip(left, right)):
        for name in LOADER:
            if name in one and name in other and not same(one[name], other[name]):
                yield Discrepancy("loader", f"{at}.{name}", one[name], other[name])
    if len(left) != len(right):
        yield Discrepancy("loaders", "-", len(left), len(right), decides=False)


def _number(step: str) -> int:
    return int(step) if step.isdigit() else 0
