"""Two sides' costs as rows of which the differences add up to the difference of the steps."""

from __future__ import annotations

from dataclasses import dataclass

from helpers.profiling.compare.costs import FREE, HIDDEN, LOADING, REST, Cost, Costs
from helpers.profiling.compare.families import Join

ALIKE, CHANGED, ONLY_BASELINE, ONLY_TARGET, JOINED = "alike", "changed", "only_baseline", "only_target", "joined"
OTHERS = (LOADING, FREE, HIDDEN, REST)


@dataclass(frozen=True)
class Row:
    """Of one name, nanoseconds and calls a step on both sides; `names`: what a joined row is made of. `pairing` is one
    of the words above: calls or shapes alike, changed, or one side alone."""

    name: str
    baseline: Cost
    target: Cost
    pairing: str
    names: tuple[str, ...] = ()

    @property
    def difference_ns(self) -> float:
        return self.target.ns - self.baseline.ns


def rows(baseline: Costs, target: Costs, joined: list[Join] | None = None) -> list[Row]:
    """A row for each name of either side, the greatest difference first; those of a Join together."""
    made = []
    taken: set[str] = set()
    for one in joined or []:
        left, right = (_together(costs, one.names) for costs in (baseline, target))
        made.append(Row(f"family.{one.family}", left, right, JOINED, one.names))
        taken |= set(one.names)
    for name in dict.fromkeys([*baseline, *target]):
        if name not in taken:
            left, right = (costs.get(name) or Cost(0.0, 0.0, {}) for costs in (baseline, target))
            made.append(Row(name, left, right, _pairing(name, baseline, target)))
    return sorted(made, key=lambda row: (-abs(row.difference_ns), row.name))


def _together(costs: Costs, names: tuple[str, ...]) -> Cost:
    total = Cost(0.0, 0.0, {})
    for name in names:
        if name in costs:
            total.add(costs[name].calls, costs[name].ns)
    return total


def _pairing(name: str, baseline: Costs, target: Costs) -> str:
    if name in OTHERS:
        return ALIKE
    if name not in target:
        return ONLY_BASELINE
    if name not in baseline:
        return ONLY_TARGET
    left, right = baseline[name], target[name]
    same_calls = abs(left.calls - right.calls) <= 0.01 * max(left.calls, right.calls)
    same_shapes = not (left.shapes and right.shapes) or left.shapes.keys() == right.shapes.keys()
    return ALIKE if same_calls and same_shapes else CHANGED
