"""Two runs' losses side by side: relative error per step, and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.machine.launch import LaunchResult

#: Relative tolerance by the narrowest type a training computes in. float32: the order of additions differs by
#: a few units in the last place (6e-8) and steps compound it. Half types: about four times their epsilon
#: (float16 9.8e-4, bfloat16 7.8e-3), since every rounding of an activation may fall the other way.
TOLERANCE = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
#: Significant digits of a loss in a table.
LOSS_DIGITS = 6
#: Beyond this many times the tolerance it is no rounding.
FAR = 1000.0


@dataclass(frozen=True)
class LossPair:
    """One step of both runs. `error` is |target - baseline| / |baseline|; None where one side has no loss, and where
    neither has a finite one: two NaNs agree in nothing."""

    step: int
    baseline: float | None
    target: float | None

    @property
    def error(self) -> float | None:
        if self.baseline is None or self.target is None:
            return None
        if not (math.isfinite(self.baseline) and math.isfinite(self.target)):
            return None if self.both_broken else math.inf
        difference = abs(self.target - self.baseline)
        return difference / abs(self.baseline) if self.baseline else (0.0 if not difference else math.inf)

    @property
    def both_broken(self) -> bool:
        """Return whether both sides have the same broken value: NaN, inf or -inf."""
        if self.baseline is None or self.target is None:
            return False
        return str(self.baseline) == str(self.target) and not math.isfinite(self.baseline)

    @property
    def one_broken(self) -> bool:
        """NaN or inf where the other side has a number, or another of them."""
        values = [value for value in (self.baseline, self.target) if value is not None]
        return len(values) == 2 and not all(map(math.isfinite, values)) and not self.both_broken


def pair_losses(baseline: Sequence[float | None], target: Sequence[float | None]) -> list[LossPair]:
    """Pair the losses step by step; the longer run's extra steps have no partner."""
    steps = range(max(len(baseline), len(target)))
    return [
        LossPair(n + 1, baseline[n] if n < len(baseline) else None, target[n] if n < len(target) else None)
        for n in steps
    ]


def find_worst_step(pairs: Iterable[LossPair]) -> LossPair | None:
    """Find the step with the largest relative error among those that both runs have."""
    both = [entry for entry in pairs if entry.error is not None]
    return max(both, key=lambda entry: entry.error or 0.0, default=None)


def drifts_apart(pairs: Sequence[LossPair], allowed: float) -> bool:
    """Return whether the first step agrees and a later one does not: a difference that grew, not one in the forward
    pass.
    """
    first = pairs[0].error if pairs else None
    return first is not None and first <= allowed


def choose_narrowest_type(dtypes: Iterable[str]) -> str:
    """Choose the type that sets the tolerance."""
    return max(dtypes, key=lambda name: TOLERANCE.get(name, 0.0), default="float32")


def which_loss(run: LaunchResult, loss_regex: str | None) -> list[Finding]:
    """Which loss was compared, where it can differ from the one that the script prints."""
    if loss_regex:
        return [Finding("MIG140", Status.OK, "MIG140.of_output")]
    most = max((step.micro_batches for step in run.steps), default=1)
    return [Finding("MIG140", Status.OK, "MIG140.of_backward", {"count": most})] if most > 1 else []
