"""What was not compared or could not have been seen, and the optimizer's update, which only the next step shows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.comparison import Comparison, StepComparison
from ascend_workbook.precision.divergence import AGREES, ALLOWED, EXPLAINED, NOT_COMPARED, POSSIBLE, Judgement
from ascend_workbook.precision.layouts import tree
from ascend_workbook.precision.record import BACKWARD, FORWARD, PARAMETERS
from ascend_workbook.precision.tensors import agreement, fused, tolerance
from ascend_workbook.precision.tensors.workers import ALONE

BASIS = {**dict.fromkeys(("ACC209", "ACC215", "ACC217"), "defined"), "ACC218": "reasoned", "ACC235": "facts"}
SHOWN = 4
DOUBLE = {"float32", "float64"}
#: A fault of one percent shows in training; where half of the operators could hide one, that is said.
LARGE = 0.01


def check_slower(facts: Comparison) -> Iterator[Finding]:
    """ACC209: were the tensors measured by numpy for want of the compiled kernel? The numbers are the same; of much
    data it is told, for it takes several times as long."""
    judged = (judgement for step in facts.steps for judgement in step.judged)
    outputs = (slot for judgement in judged for slot in judgement.agreement.outputs)
    if sum(slot.metrics.measured for slot in outputs if slot.metrics) <= ALONE:
        return
    why = fused.explain_missing_kernel()
    if why is not None:
        yield Finding("ACC209", Status.NOTE, "ACC209.slower", {"reason": Sentence(why.key, **why.arguments)})


def check_uncompared(facts: Comparison) -> Iterator[Finding]:
    """ACC215: pairs whose tensors could not be compared, with the reason."""
    judged = [judgement for step in facts.steps for judgement in step.judged]
    broken = [slot for judgement in judged for slot in judgement.agreement.find_problems(agreement.UNREADABLE)]
    if broken:
        args: dict[str, Scalar] = {"count": len(broken), "first": broken[0].detail}
        yield Finding("ACC215", Status.FIX, "ACC215.unreadable", args, weight=350)
    nodes = [judgement.name for judgement in judged if _other_node(judgement)]
    if nodes:
        yield Finding("ACC215", Status.NOTE, "ACC215.autograd", {"count": len(nodes), "names": nodes[:SHOWN]})
    yield from _report_lacking(judged)
    adrift = [judgement.name for judgement in judged if _is_adrift(judgement)]
    if adrift:
        yield Finding("ACC215", Status.NOT_LOOKED, "ACC215.adrift", {"count": len(adrift), "names": adrift[:SHOWN]})
    yield from _report_dtypes(judged)
    slots = [slot for judgement in judged for slot in (*judgement.agreement.inputs, *judgement.agreement.outputs)]
    if any(slot.error is not None and slot.metrics is None and not slot.summed for slot in slots):
        yield Finding("ACC215", Status.NOTE, "ACC215.statistics")
    yield from _report_checksums(judged)
    if any(run.task == tree.NAME for step in facts.steps for run in (step.pairing.target, step.pairing.baseline)):
        yield Finding("ACC215", Status.NOTE, "ACC215.order")
    for error in {step.replays.error for step in facts.steps if step.replays.error}:
        yield Finding("ACC215", Status.NOT_LOOKED, "ACC215.replay", {"error": error})
    cut = [name for step in facts.steps for name, why in step.replays.skipped.items() if why == "budget"]
    if cut:
        done = sum(len(step.replays.found) for step in facts.steps)
        args = {"count": len(cut), "done": done, "names": cut[:SHOWN]}
        yield Finding("ACC215", Status.NOT_LOOKED, "ACC215.replay_cut", args)


def _is_forward(judgement: Judgement) -> bool:
    return judgement.agreement.pair.target.direction == FORWARD


def _other_node(judgement: Judgement) -> bool:
    """Return whether this is a backward entry of another autograd node: other shapes or dtypes, and nothing that could
    not be read."""
    if judgement.agreement.find_problems(agreement.UNREADABLE, agreement.NO_VALUES, agreement.CHECKSUM):
        return False
    if judgement.agreement.pair.target.direction == BACKWARD and judgement.agreement.find_problems(agreement.DTYPE):
        return True
    return judgement.outcome == NOT_COMPARED and bool(judgement.agreement.outputs) and not _is_adrift(judgement)


def _is_adrift(judgement: Judgement) -> bool:
    """Return whether these are gradients of parameters with numbers, and nothing before them in the step tells what
    they inherit."""
    whole = not any(slot.problem for slot in judgement.agreement.outputs)
    return judgement.outcome == NOT_COMPARED and judgement.agreement.pair.target.direction == PARAMETERS and whole


def _report_lacking(judged: list[Judgement]) -> Iterator[Finding]:
    """Report outputs of one side alone, of backward entries that were judged by the others."""
    names = [
        f"{judgement.name} {slot.slot}"
        for judgement in judged
        if judgement.outcome != NOT_COMPARED and not _is_forward(judgement)
        for slot in judgement.agreement.outputs
        if slot.problem in (agreement.ONLY_TARGET, agreement.ONLY_BASELINE)
    ]
    if names:
        yield Finding("ACC215", Status.NOTE, "ACC215.lacking", {"count": len(names), "names": names[:SHOWN]})


def _report_checksums(judged: list[Judgement]) -> Iterator[Finding]:
    """Report checksums, which tell equal from different. How different decides whether it is rounding: no tensor is to
    blame."""
    odd = [f"{pair.name} {slot.slot}" for pair in judged for slot in pair.agreement.find_problems(agreement.CHECKSUM)]
    if odd:
        yield Finding("ACC215", Status.LOOK, "ACC215.checksum", {"count": len(odd), "names": odd[:SHOWN]}, weight=60)
    equal = sum(slot.summed for pair in judged for slot in (*pair.agreement.inputs, *pair.agreement.outputs))
    if equal:
        yield Finding("ACC215", Status.NOTE, "ACC215.summed", {"count": equal})


def _report_dtypes(judged: list[Judgement]) -> Iterator[Finding]:
    """Report other dtypes in forward. float64 on one side and float32 on the other is what torch_npu documents: an NPU
    computes float64 in float32."""
    slots = [
        (judgement.name, slot)
        for judgement in judged
        if _is_forward(judgement)
        for slot in judgement.agreement.find_problems(agreement.DTYPE)
    ]
    for key, status, wanted in (("double", Status.NOTE, True), ("dtype", Status.LOOK, False)):
        names = [f"{name} {slot.detail}" for name, slot in slots if (set(slot.detail.split(" / ")) == DOUBLE) == wanted]
        if names:
            yield Finding("ACC215", status, f"ACC215.{key}", {"count": len(names), "names": names[:SHOWN]}, weight=50)


def check_selected(facts: Comparison) -> Iterator[Finding]:
    """ACC217: was all of both runs looked at? A selection and a sample leave things out, and that is said, with what
    the sample costs in certainty."""
    selection = facts.selection
    if selection.names:
        count = sum(len(step.pairing.pairs) for step in facts.steps)
        args: dict[str, Scalar] = {"count": count, "names": list(selection.names)}
        yield Finding("ACC217", Status.NOTE, "ACC217.selected", args)
    if selection.sample.share < 1:
        agreements = [judgement.agreement for step in facts.steps for judgement in step.judged]
        sampled = [slot.metrics for pair in agreements for slot in (*pair.inputs, *pair.outputs) if slot.metrics]
        shares = [
            metrics.sampling / metrics.relative_l2
            for metrics in sampled
            if metrics.sampling is not None and metrics.relative_l2 > 0 and math.isfinite(metrics.sampling)
        ]
        worst: Scalar = max(shares, default=0.0)
        args = {"share": selection.sample.share, "seed": selection.sample.seed, "count": len(sampled), "worst": worst}
        yield Finding("ACC217", Status.NOTE, "ACC217.sampled", args)


def check_blind(facts: Comparison) -> Iterator[Finding]:
    """ACC218: how large a fault would have gone unseen? Statistics alone, and 16-bit numbers, leave room for one; where
    no operator is found at fault, the size of that room belongs to the answer."""
    if facts.stopped or facts.bare or facts.first is not None or facts.start:
        return
    judged = [
        judgement
        for step in facts.steps
        for judgement in step.judged
        if _is_forward(judgement)
        and judgement.own is None
        and judgement.outcome in (AGREES, EXPLAINED, ALLOWED, POSSIBLE)
    ]
    rooms = [max(judgement.allowed, tolerance.AMPLIFICATION * judgement.agreement.error_in) for judgement in judged]
    room = median(rooms) if rooms else 0.0
    if room < LARGE:
        return
    saved = any(t.file for judgement in judged for t in judgement.agreement.pair.target.outputs)
    half = any(
        tolerance.unit_roundoff(dtype) > tolerance.unit_roundoff("float32")
        for judgement in judged
        for dtype in judgement.agreement.dtypes
    )
    why = [Sentence(f"ACC218.{name}") for name, holds in (("statistics", not saved), ("half", half)) if holds]
    yield Finding("ACC218", Status.NOTE, "ACC218.room", {"count": len(rooms), "room": room, "why": list(why) or None})


UPDATE = "ACC235"
#: Relative L2 error of what the first operator of the next step reads, its weights among it. Rounding leaves about
#: 1e-5 after one update; an optimizer that is off by half leaves the update's own size, 1e-3 and more.
LIMIT = 1e-4
#: Weights differ by no more than the gradients that moved them, where the update is no larger than the weights.
#: Measured with HF32, a network with batch norm, 16 samples: gradients 5e-2 apart, weights 7e-3 after one update.


def check_update(facts: Comparison) -> Iterator[Finding]:
    """ACC235: did the optimizer's update agree? It is not captured itself; it shows in the weights that the first
    operator of the next step reads. Where no step was captured with the one after it, an optimizer that computes wrong
    values stays unseen, and that is said."""
    if facts.stopped or facts.bare or facts.first is not None:
        return
    if any(rank.rows for rank in facts.states):  # the update itself was recorded on both sides: ACC237 judges it
        return
    pairs = pair_following_steps(facts)
    if not pairs:
        yield Finding(UPDATE, Status.NOTE, "ACC235.unseen", {"steps": sorted({step.step for step in facts.steps})})
    for before, after in pairs:
        yield from _check_weights(before, after)


def pair_following_steps(facts: Comparison) -> list[tuple[StepComparison, StepComparison]]:
    """Pair each step with the one after it, between which the update shows; none where no tensor was compared, and
    where an operator parts the runs, so that weights differ for that alone."""
    if facts.stopped or facts.bare or facts.first is not None:
        return []
    by_key = {(step.step, step.rank): step for step in facts.steps}
    return [(step, by_key[step.step + 1, step.rank]) for step in facts.steps if (step.step + 1, step.rank) in by_key]


def _check_weights(before: StepComparison, after: StepComparison) -> Iterator[Finding]:
    """Held against what the step before began with: later steps inherit the difference of earlier updates."""
    first, began = (next(filter(_is_forward, step.judged), None) for step in (after, before))
    if first is None or began is None:
        return
    error, had = first.agreement.error_in, began.agreement.error_in
    if error <= max(LIMIT, 30 * had):
        return
    errors = [
        judgement.agreement.error_out
        for judgement in before.judged
        if judgement.agreement.pair.target.direction == BACKWARD
    ]
    # in the middle: single gradients may be next to nothing on both sides
    gradients = median([error for error in errors if error is not None and math.isfinite(error)] or [0.0])
    where: dict[str, Scalar] = {"step": before.step, "rank": after.rank, "operator": first.name, "error": error}
    if error <= gradients:
        yield Finding(UPDATE, Status.NOTE, "ACC235.explained", {**where, "gradients": gradients}, weight=60)
    else:
        yield Finding(UPDATE, Status.LOOK, "ACC235.parted", {**where, "limit": max(LIMIT, gradients)}, weight=200)


RULES = {
    "ACC209": check_slower,
    "ACC215": check_uncompared,
    "ACC217": check_selected,
    "ACC218": check_blind,
    UPDATE: check_update,
}
