"""What published trainings chose, by the size of the model: tokens a step and the peak of the learning rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ascend_workbook.findings.finding import Place
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.planning.strategy.choice import Setting
from ascend_workbook.planning.strategy.stated import Stated, Value

#: Parameters, tokens a step, peak learning rate: GPT-3's table 2.1 (https://arxiv.org/abs/2005.14165)
GPT3 = (
    (125e6, 0.5e6, 6.0e-4),
    (350e6, 0.5e6, 3.0e-4),
    (760e6, 0.5e6, 2.5e-4),
    (1.3e9, 1.0e6, 2.0e-4),
    (2.7e9, 1.0e6, 1.6e-4),
    (6.7e9, 2.0e6, 1.2e-4),
    (13e9, 2.0e6, 1.0e-4),
    (175e9, 3.2e6, 0.6e-4),
)


@dataclass(frozen=True)
class Advised:
    """What rules of hyper-parameters judge: the setting, and what the user or the script states."""

    setting: Setting
    stated: Stated
    batch_stated: bool = True

    def value(self, name: str) -> Value | None:
        """Return a setting as it is written, or None."""
        return self.stated.values.get(name)

    def find_value(self, name: str) -> Value:
        """Return a setting as it is written. Raises CannotCheck where it is not stated."""
        value = self.value(name)
        if value is None:
            raise CannotCheck("strategy.not_stated", topic=Sentence(f"strategy.topic.{name}"))
        return value

    def read(self, name: str) -> tuple[float, Place | None]:
        """Return a number that is stated, and where. Raises CannotCheck where it is not, or is no number."""
        value = self.find_value(name)
        number = value.number
        if number is None or not math.isfinite(number):
            raise CannotCheck("strategy.no_number", topic=Sentence(f"strategy.topic.{name}"), value=value.text)
        return number, value.place


def published_batch(parameters: float) -> float:
    """Return the tokens a step of the published training of this size, between two by the logarithm."""
    return _between(parameters, 1)


def published_rate(parameters: float) -> float:
    """Return the peak of the learning rate of the published training of this size."""
    return _between(parameters, 2)


def _between(parameters: float, column: int) -> float:
    rows = [(row[0], row[column]) for row in GPT3]
    if parameters <= rows[0][0]:
        return rows[0][1]
    for (small, low), (large, high) in zip(rows, rows[1:]):
        if parameters <= large:
            share = math.log(parameters / small) / math.log(large / small)
            return float(low * (high / low) ** share)
    return rows[-1][1]
