"""ACC209: were the tensors measured by numpy for want of the compiled kernel? The numbers are the same; of much data it
is told, for it takes several times as long."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison
from helpers.precision.tensors import fused
from helpers.precision.tensors.workers import ALONE

CODE = "ACC209"
BASIS = "defined"


def check(facts: Comparison) -> Iterator[Finding]:
    slots = (slot for step in facts.steps for one in step.judged for slot in one.agreement.outputs if slot.metrics)
    if sum(slot.metrics.measured for slot in slots if slot.metrics) <= ALONE:
        return
    why = fused.missing()
    if why is not None:
        yield Finding(CODE, Status.NOTE, "ACC209.slower", {"reason": {"say": why.key, "args": why.arguments}})
