"""What advice is drawn from: the comparison by tensor, the logs of both runs, and a second capture of one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from helpers.errors import WorkbookError
from helpers.precision.comparison import Comparison, Side, StepComparison
from helpers.precision.curves.series import Curve
from helpers.precision.divergence import Judgement
from helpers.precision.record import FORWARD, Operator, TensorRecord
from helpers.rules import CannotCheck
from helpers.settings import Settings
from helpers.words import Scalar

HALF = ("float16", "bfloat16")
#: Places named in one sentence.
SHOWN = 3


@dataclass(frozen=True)
class Seen:
    """`logs` are those of baseline and target: None where one has none, an error where it cannot be read; `again`
    compares a side with a second capture of it."""

    comparison: Comparison
    logs: tuple[Curve | WorkbookError | None, Curve | WorkbookError | None] = (None, None)
    again: Comparison | None = None

    @property
    def parted(self) -> bool:
        """Whether an operator parts the runs."""
        return self.comparison.first is not None

    @property
    def steps(self) -> tuple[StepComparison, ...]:
        """What was compared by tensor. Raises CannotCheck where nothing was: other experiments, or fingerprints."""
        if self.comparison.stopped:
            raise CannotCheck("ACC230.other_experiment", what=self.different)
        if self.comparison.bare:
            raise CannotCheck("ACC230.no_operators")
        return self.comparison.steps

    @property
    def different(self) -> list[Scalar]:
        """In what the runs are other experiments."""
        return list(dict.fromkeys(one.name for one in self.comparison.differences))

    def forward(self) -> Iterator[Judgement]:
        """Every pair of forward calls, in the order of execution. Raises CannotCheck as `steps` does."""
        for step in self.steps:
            yield from (one for one in step.judged if one.agreement.pair.target.direction == FORWARD)

    def partners(self) -> dict[str, Operator]:
        """The baseline's operator by the target's name."""
        return {one.agreement.pair.target.name: one.agreement.pair.baseline for one in self.forward()}

    def operators(self) -> Iterator[Operator]:
        """The target's forward calls, those without a partner too. Raises CannotCheck as `steps` does."""
        for step in self.steps:
            yield from (one for one in step.pairing.target.operators if one.direction == FORWARD)


def told(side: Side, part: str) -> Any:
    """What the capture recorded of its experiment on its first rank (optimizers, autocast, scaler, loaders, batches);
    None where it did not."""
    first: dict[str, Any] = next(iter(side.about.sides.values()), {}) if side.about else {}
    experiment = first.get("experiment")
    return experiment.get(part) if isinstance(experiment, dict) else None


def settings(side: Side) -> Settings | None:
    """The packages, variables and flags that the capture recorded; None where it did not."""
    if side.about is None or not any(one.get("settings") for one in side.about.sides.values()):
        return None
    return Settings.of_capture(side.about.about, side.about.sides)


def where(operator: Operator) -> str:
    """`Functional.softmax.0.forward (train.py:12)`."""
    return f"{operator.name} ({operator.place})" if operator.place else operator.name


def places(operators: list[Operator]) -> list[Scalar]:
    """The first few, as a sentence names them; of several calls in one line the first."""
    by_line = {str(one.place or one.name): one for one in reversed(operators)}
    named: list[Scalar] = [where(one) for one in reversed(list(by_line.values()))]
    return named[:SHOWN]


def dtypes(tensors: tuple[TensorRecord, ...]) -> set[str]:
    """Of the floating tensors."""
    return {one.dtype for one in tensors if one.floating}


def in_half(operator: Operator) -> str:
    """`float16` or `bfloat16` where inputs and outputs are that and nothing wider; else an empty string. Parameters,
    which mixed precision keeps in float32, do not count."""
    given = dtypes(tuple(one for one in operator.inputs if not one.slot.startswith("parameters")))
    made = dtypes(operator.outputs)
    return made.pop() if len(made) == 1 and made <= set(HALF) and given and given <= set(HALF) else ""
