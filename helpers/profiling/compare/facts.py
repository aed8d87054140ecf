"""What the rules of a comparison judge: two sides and their rows."""

from __future__ import annotations

from dataclasses import dataclass

from helpers.profiling.compare.costs import Side, side
from helpers.profiling.compare.families import joins
from helpers.profiling.compare.rows import OTHERS, Row, rows
from helpers.profiling.facts import Profile


@dataclass(frozen=True)
class Comparison:
    """`operators` and, where both sides recorded the same kind of it, `modules` (else empty): rows whose differences
    add up to `difference_ns`, the target's mean step less the baseline's."""

    baseline: Side
    target: Side
    operators: tuple[Row, ...]
    modules: tuple[Row, ...]

    @classmethod
    def of(cls, baseline: Profile, target: Profile) -> Comparison:
        left, right = side(baseline), side(target)
        operators = rows(left.operators, right.operators, joins(left.operators, right.operators))
        same = left.module_kind == right.module_kind != ""
        modules = rows(left.modules, right.modules) if same else []
        return cls(left, right, tuple(operators), tuple(modules))

    @property
    def difference_ns(self) -> float:
        return self.target.step_ns - self.baseline.step_ns

    @property
    def simulated(self) -> bool:
        return self.baseline.profile.simulated or self.target.profile.simulated

    @property
    def real_rows(self) -> tuple[Row, ...]:
        """The rows of operators, without those for what is no operator's."""
        return tuple(row for row in self.operators if row.name not in OTHERS)

    def spread_ns(self) -> float:
        """How far the steady steps of the one side that varies more lie apart, half of it; 0 for single steps."""
        totals = [[step.total_ns for step in one.profile.breakdown.steady] for one in (self.baseline, self.target)]
        return max((max(some) - min(some)) / 2 for some in totals)
