"""ACC208: convolutions or matrix products compute in a reduced format although no record of the run says so."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison
from helpers.words import Scalar

CODE = "ACC208"
BASIS = "defined"


def check(facts: Comparison) -> Iterator[Finding]:
    seen = {(kind, form) for step in facts.steps for kind, form in step.replays.seen.items()}
    for kind, form in sorted(seen):
        args: dict[str, Scalar] = {"what": {"say": f"ACC208.{kind}"}, "form": form.upper()}
        yield Finding(CODE, Status.NOTE, "ACC208.seen", args, weight=40)
