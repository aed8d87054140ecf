"""ACC215: pairs whose tensors could not be compared, with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison
from helpers.precision.divergence import NOT_COMPARED, Judgement
from helpers.precision.layouts import tree
from helpers.precision.record import BACKWARD, FORWARD, PARAMETERS
from helpers.precision.tensors.agreement import CHECKSUM, DTYPE, NO_VALUES, ONLY_BASELINE, ONLY_TARGET, UNREADABLE
from helpers.words import Scalar

CODE = "ACC215"
BASIS = "defined"
SHOWN = 4
DOUBLE = {"float32", "float64"}


def check(facts: Comparison) -> Iterator[Finding]:
    judged = [one for step in facts.steps for one in step.judged]
    broken = [slot for one in judged for slot in one.agreement.problems(UNREADABLE)]
    if broken:
        args: dict[str, Scalar] = {"count": len(broken), "first": broken[0].detail}
        yield Finding(CODE, Status.FAIL, "ACC215.unreadable", args, weight=350)
    nodes = [one.name for one in judged if _other_node(one)]
    if nodes:
        yield Finding(CODE, Status.NOTE, "ACC215.autograd", {"count": len(nodes), "names": nodes[:SHOWN]})
    yield from _lacking(judged)
    adrift = [one.name for one in judged if _adrift(one)]
    if adrift:
        yield Finding(CODE, Status.SKIPPED, "ACC215.adrift", {"count": len(adrift), "names": adrift[:SHOWN]})
    yield from _dtypes(judged)
    slots = [slot for one in judged for slot in (*one.agreement.inputs, *one.agreement.outputs)]
    if any(slot.error is not None and slot.metrics is None and not slot.summed for slot in slots):
        yield Finding(CODE, Status.NOTE, "ACC215.statistics")
    yield from _checksums(judged)
    if any(run.task == tree.NAME for step in facts.steps for run in (step.pairing.target, step.pairing.baseline)):
        yield Finding(CODE, Status.NOTE, "ACC215.order")
    for error in {step.replays.error for step in facts.steps if step.replays.error}:
        yield Finding(CODE, Status.SKIPPED, "ACC215.replay", {"error": error})


def _forward(one: Judgement) -> bool:
    return one.agreement.pair.target.direction == FORWARD


def _other_node(one: Judgement) -> bool:
    """A backward entry of another autograd node: other shapes or dtypes, and nothing that could not be read."""
    if one.agreement.problems(UNREADABLE, NO_VALUES, CHECKSUM):
        return False
    dtypes = one.agreement.pair.target.direction == BACKWARD and one.agreement.problems(DTYPE)
    return bool(dtypes) or one.outcome == NOT_COMPARED and bool(one.agreement.outputs) and not _adrift(one)


def _adrift(one: Judgement) -> bool:
    """Gradients of parameters with numbers, and nothing before them in the step that tells what they inherit."""
    whole = not any(slot.problem for slot in one.agreement.outputs)
    return one.outcome == NOT_COMPARED and one.agreement.pair.target.direction == PARAMETERS and whole


def _lacking(judged: list[Judgement]) -> Iterator[Finding]:
    """Outputs of one side alone, of backward entries that were judged by the others."""
    names = [f"{one.name} {slot.slot}" for one in judged if one.outcome != NOT_COMPARED and not _forward(one)
             for slot in one.agreement.outputs if slot.problem in (ONLY_TARGET, ONLY_BASELINE)]  # fmt: skip
    if names:
        yield Finding(CODE, Status.NOTE, "ACC215.lacking", {"count": len(names), "names": names[:SHOWN]})


def _checksums(judged: list[Judgement]) -> Iterator[Finding]:
    """Checksums tell equal from different. How different decides whether it is rounding: no tensor is to blame."""
    odd = [f"{one.name} {slot.slot}" for one in judged for slot in one.agreement.problems(CHECKSUM)]
    if odd:
        yield Finding(CODE, Status.WARN, "ACC215.checksum", {"count": len(odd), "names": odd[:SHOWN]}, weight=60)
    equal = sum(slot.summed for one in judged for slot in (*one.agreement.inputs, *one.agreement.outputs))
    if equal:
        yield Finding(CODE, Status.NOTE, "ACC215.summed", {"count": equal})


def _dtypes(judged: list[Judgement]) -> Iterator[Finding]:
    """Other dtypes in forward. float64 on one side and float32 on the other is what torch_npu documents: an NPU
    computes float64 in float32."""
    slots = [(one.name, slot) for one in judged if _forward(one)
             for slot in one.agreement.problems(DTYPE)]  # fmt: skip
    for key, status, wanted in (("double", Status.NOTE, True), ("dtype", Status.WARN, False)):
        names = [f"{name} {slot.detail}" for name, slot in slots if (set(slot.detail.split(" / ")) == DOUBLE) == wanted]
        if names:
            args: dict[str, Scalar] = {"count": len(names), "names": names[:SHOWN]}
            yield Finding(CODE, status, f"ACC215.{key}", args, weight=50)
