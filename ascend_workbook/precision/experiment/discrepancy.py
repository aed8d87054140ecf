"""One fact in which two runs differ, before any tensor is looked at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ascend_workbook.findings.sentence import Scalar

LONGEST = 200


@dataclass(frozen=True)
class Discrepancy:
    """`fact` ends the sentence ACC205.<fact>; `name` says which (a weight, a step, an option). `decides`: it makes
    another experiment; else it is only to be known. `args` are what else its sentence says."""

    fact: str
    name: str
    baseline: Any
    target: Any
    args: dict[str, Scalar] = field(default_factory=dict)
    decides: bool = True

    def with_rank(self, rank: str) -> Discrepancy:
        """Return the same discrepancy, told of a rank."""
        return replace(self, args={**self.args, "rank": rank})

    @property
    def words(self) -> dict[str, Scalar]:
        """The arguments of its sentence."""
        return {
            "name": self.name,
            "baseline": shorten_value(self.baseline),
            "target": shorten_value(self.target),
            **self.args,
        }


def shorten_value(value: Any) -> str:
    """A value as text of bounded length."""
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
