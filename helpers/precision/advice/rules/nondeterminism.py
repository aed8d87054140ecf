"""ACC263: does one side give other numbers when it runs twice? Then no difference between two sides can be blamed on an
operator before that is settled. Only a second capture of one side tells.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.advice.seen import Seen, settings, where
from helpers.precision.comparison import StepComparison
from helpers.precision.divergence import Judgement
from helpers.precision.tensors.agreement import CHECKSUM, SHAPE, TensorAgreement
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "ACC263"
SOURCE = "https://www.hiascend.com/document/detail/en/mindstudio/830/practicalcases/LargeModelTrainingAccuracy/toolsample3_005.html"
COLLECTIVE = "https://www.hiascend.com/document/detail/zh/canncommercial/850/commlib/hcclug/hcclug_000081.html"


def check(seen: Seen) -> Iterator[Finding]:
    if seen.again is None:
        raise CannotCheck("ACC263.once")
    if seen.again.differences:
        raise CannotCheck("ACC263.other_experiment")
    judged = [(step, one) for step in seen.again.steps for one in step.judged]
    if all(one.error is None and not _differs(one) for _, found in judged for one in found.agreement.outputs):
        raise CannotCheck("ACC263.no_values")
    apart = [(step, one) for step, one in judged if any(map(_differs, one.agreement.outputs))]
    if not apart:
        return
    step, first = _first(apart)
    operator = first.agreement.pair.target
    record = settings(seen.again.target)
    args: dict[str, Scalar] = {"operator": where(operator), "step": step.step, "count": len(apart), "source": SOURCE,
                               "error": first.agreement.error_out or {"say": "advice.unknown_size"}}  # fmt: skip
    if operator.head.startswith("Distributed."):
        key, args["source"] = "collective", COLLECTIVE
    elif record is not None and record.flags.get("deterministic_algorithms") is True:
        key = "although"
    else:
        key = "operator"
    yield Finding(CODE, Status.WARN, f"ACC263.{key}", args, operator.place, weight=90)


def _first(apart: list[tuple[StepComparison, Judgement]]) -> tuple[StepComparison, Judgement]:
    """The earliest whose inputs agree; where a gap hides it, the earliest of all."""
    ordered = sorted(apart, key=lambda found: (found[0].step, found[1].agreement.pair.order))
    return next((found for found in ordered if not any(map(_differs, found[1].agreement.inputs))), ordered[0])


def _differs(tensor: TensorAgreement) -> bool:
    """By its values, or by a checksum or shape that tells no error."""
    return bool(tensor.error) or tensor.problem in (CHECKSUM, SHAPE)
