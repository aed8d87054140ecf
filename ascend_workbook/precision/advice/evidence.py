"""What advice is drawn from: the comparison by tensor, the logs of both runs, and a second capture of one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.machine.settings import Settings
from ascend_workbook.precision.comparison import Comparison, Side, StepComparison
from ascend_workbook.precision.curves.series import Curve
from ascend_workbook.precision.divergence import Judgement
from ascend_workbook.precision.record import FORWARD, Operator, TensorRecord

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
            raise CannotCheck("ACC230.other_experiment", what=self.different_settings)
        if self.comparison.bare:
            raise CannotCheck("ACC230.no_operators")
        return self.comparison.steps

    @property
    def different_settings(self) -> list[Scalar]:
        """In what the runs are other experiments."""
        return list(dict.fromkeys(difference.name for difference in self.comparison.differences))

    def forward_judgements(self) -> Iterator[Judgement]:
        """Every pair of forward calls, in the order of execution. Raises CannotCheck as `steps` does."""
        for step in self.steps:
            yield from (judgement for judgement in step.judged if judgement.agreement.pair.target.direction == FORWARD)

    def baseline_by_name(self) -> dict[str, Operator]:
        """The baseline's operator by the target's name."""
        pairs = (judgement.agreement.pair for judgement in self.forward_judgements())
        return {pair.target.name: pair.baseline for pair in pairs}

    def forward_operators(self) -> Iterator[Operator]:
        """The target's forward calls, those without a partner too. Raises CannotCheck as `steps` does."""
        for step in self.steps:
            yield from (operator for operator in step.pairing.target.operators if operator.direction == FORWARD)


def recorded_fact(side: Side, part: str) -> Any:
    """Return what the capture recorded of its experiment on its first rank, or None."""
    first: dict[str, Any] = next(iter(side.about.sides.values()), {}) if side.about else {}
    experiment = first.get("experiment")
    return experiment.get(part) if isinstance(experiment, dict) else None


def recorded_settings(side: Side) -> Settings | None:
    """The packages, variables and flags that the capture recorded; None where it did not."""
    if side.about is None or not any(record.get("settings") for record in side.about.sides.values()):
        return None
    return Settings.of_capture(side.about.about, side.about.sides)


def describe_operator(operator: Operator) -> str:
    """`Functional.softmax.0.forward (train.py:12)`."""
    return f"{operator.name} ({operator.place})" if operator.place else operator.name


def describe_places(operators: list[Operator]) -> list[Scalar]:
    """Return the first few operators as a sentence names them; of several calls in one line the first."""
    by_line = {str(operator.place or operator.name): operator for operator in reversed(operators)}
    named: list[Scalar] = [*map(describe_operator, reversed(by_line.values()))]
    return named[:SHOWN]


def floating_dtypes(tensors: tuple[TensorRecord, ...]) -> set[str]:
    """Return the dtypes of the floating tensors."""
    return {tensor.dtype for tensor in tensors if tensor.is_floating}


def in_half(operator: Operator) -> str:
    """`float16` or `bfloat16` where inputs and outputs are that and nothing wider; else an empty string. Parameters,
    which mixed precision keeps in float32, do not count."""
    inputs = floating_dtypes(tuple(t for t in operator.inputs if not t.slot.startswith("parameters")))
    outputs = floating_dtypes(operator.outputs)
    return outputs.pop() if len(outputs) == 1 and inputs and inputs | outputs <= set(HALF) else ""
