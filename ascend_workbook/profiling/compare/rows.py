"""Two sides' costs as rows of which the differences add up to the difference of the steps."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_workbook.profiling.compare.costs import FREE, HIDDEN, LOADING, REST, Cost, Costs
from ascend_workbook.profiling.compare.families import Join

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


def pair_rows(baseline: Costs, target: Costs, joins: list[Join] | None = None) -> list[Row]:
    """Return a row for each name of either side, the greatest difference first; those of a Join together."""
    paired = []
    taken: set[str] = set()
    for join in joins or []:
        left, right = (_sum_costs(costs, join.names) for costs in (baseline, target))
        paired.append(Row(f"family.{join.family}", left, right, JOINED, join.names))
        taken |= set(join.names)
    for name in dict.fromkeys([*baseline, *target]):
        if name not in taken:
            left, right = (costs.get(name) or Cost(0.0, 0.0, {}) for costs in (baseline, target))
            paired.append(Row(name, left, right, _classify_pair(name, baseline, target)))
    return sorted(paired, key=lambda row: (-abs(row.difference_ns), row.name))


def _sum_costs(costs: Costs, names: tuple[str, ...]) -> Cost:
    """Sum the costs of these names."""
    total = Cost(0.0, 0.0, {})
    for name in names:
        if name in costs:
            total.add_spent(costs[name].calls, costs[name].ns)
    return total


def _classify_pair(name: str, baseline: Costs, target: Costs) -> str:
    """Say how the two sides of a name go together: alike, changed, or on one side alone."""
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
