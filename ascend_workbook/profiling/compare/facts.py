"""What the rules of a comparison judge: two sides and their rows."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_workbook.profiling.compare.costs import Side, compute_side
from ascend_workbook.profiling.compare.families import find_joins
from ascend_workbook.profiling.compare.rows import OTHERS, Row, pair_rows
from ascend_workbook.profiling.facts import Profile


@dataclass(frozen=True)
class Comparison:
    """`operators` and, where both sides recorded the same kind of it, `modules` (else empty): rows whose differences
    add up to `difference_ns`, the target's mean step less the baseline's."""

    baseline: Side
    target: Side
    operators: tuple[Row, ...]
    modules: tuple[Row, ...]

    @classmethod
    def from_profiles(cls, baseline: Profile, target: Profile) -> Comparison:
        """Make the comparison of two profiles."""
        left, right = compute_side(baseline), compute_side(target)
        operators = pair_rows(left.operators, right.operators, find_joins(left.operators, right.operators))
        same = left.module_kind == right.module_kind != ""
        modules = pair_rows(left.modules, right.modules) if same else []
        return cls(left, right, tuple(operators), tuple(modules))

    @property
    def difference_ns(self) -> float:
        return self.target.step_ns - self.baseline.step_ns

    @property
    def simulated(self) -> bool:
        return self.baseline.profile.simulated or self.target.profile.simulated

    @property
    def real_rows(self) -> tuple[Row, ...]:
        """Return the rows of operators, without those for what is no operator's."""
        return tuple(row for row in self.operators if row.name not in OTHERS)

    def spread_ns(self) -> float:
        """Return half the distance between the steady steps of the side that varies more; 0 for single steps."""
        totals = [
            [step.total_ns for step in compared_side.profile.breakdown.steady]
            for compared_side in (self.baseline, self.target)
        ]
        return max((max(some) - min(some)) / 2 for some in totals)
