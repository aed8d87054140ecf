"""The named operator run again on the devices that are here, from the saved inputs of the side that is off.

Tells an operator fault from one that is not the operator's: wrong again from the same inputs on the device of that
side, or right this time, and then something else made the recorded values (an overwritten buffer, an argument or a
state that no dump holds, a race)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ascend_workbook.machine import device
from ascend_workbook.precision.comparison import Comparison, StepComparison
from ascend_workbook.precision.divergence import DIVERGES, Judgement, replay
from ascend_workbook.precision.record import Operator, Run
from ascend_workbook.precision.tensors import tolerance

#: Verdicts: words of ACC233.
AGAIN, ONLY_DTYPE, NOT_AGAIN, UNKNOWN = "again", "dtype", "not_again", "unknown"


@dataclass(frozen=True)
class Again:
    """One device: the operator's error against float64 of the CPU, in the dump's dtypes, in float32 and in float64
    (None where the device cannot); `failed` says why it could not be run there."""

    tier: str
    saved: float = math.nan
    single: float = math.nan
    failed: str = ""
    double: float | None = None


@dataclass(frozen=True)
class Confirmation:
    """The operator, the side whose inputs were taken, what every device made of them, and the verdict on the device of
    that side."""

    step: StepComparison
    judged: Judgement
    runs: tuple[Again, ...]
    verdict: str


def confirm_divergence(facts: Comparison, tiers: tuple[str, ...] | None = None) -> Confirmation | None:
    """Runs the first divergence again on `tiers`; None: on those the two captures were made on, where they are two.
    None is answered where there is nothing to confirm: no divergence, or one that no replay could tell."""
    capture_tiers = tuple(side.about.tier if side.about else "" for side in (facts.baseline, facts.target))
    if tiers is None:
        tiers = capture_tiers if capture_tiers[0] != capture_tiers[1] and all(capture_tiers) else ()
    if facts.first is None or not tiers:
        return None
    step, judged = facts.first
    if judged.outcome != DIVERGES or judged.own is None or len(facts.named) > 1:
        return None
    side = judged.side
    runs = tuple(
        run_on_device(tier, getattr(step.pairing, side), getattr(judged.agreement.pair, side))
        for tier in dict.fromkeys(tiers)
    )
    own = capture_tiers[1 if judged.side == "target" else 0]
    here = next((run for run in runs if run.tier == own), None)
    unit = max(map(tolerance.unit_roundoff, judged.agreement.dtypes), default=0.0)
    coarse = unit > tolerance.unit_roundoff("float32")
    return Confirmation(step, judged, runs, _choose_verdict(here, judged.allowed, coarse))


def _choose_verdict(here: Again | None, allowed: float, coarse: bool) -> str:
    """`here`: the run on the device of the side that is off; another device can neither blame nor clear it."""
    if here is None or here.failed:
        return UNKNOWN
    if here.saved <= allowed:
        return NOT_AGAIN
    return ONLY_DTYPE if coarse and here.single <= allowed else AGAIN


def run_on_device(tier: str, run: Run, operator: Operator) -> Again:
    """Run an operator of a capture on the device of a tier, from the inputs saved there."""
    why = device.cannot_be(tier)
    if why:
        return Again(tier, failed=str(why["say"]))
    accelerator = "npu" if tier.startswith("npu") else tier
    job: dict[str, object] = {"device": accelerator, "folder": str(run.folder), "name": operator.name, "cut": run.cut}
    job["allowed"] = replay.read_allowed()
    answer, error = replay.ask_child(job, tier=tier)
    if error or "failed" in answer:
        return Again(tier, failed=error or str(answer["failed"]))
    return Again(tier, answer["saved"], answer["float32"], double=answer["float64"])
