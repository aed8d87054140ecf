"""What is said of an operator beside the first divergence: run again, or not finite."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.comparison import Comparison, StepComparison
from ascend_workbook.precision.divergence import devices
from ascend_workbook.precision.divergence.devices import Again
from ascend_workbook.precision.divergence.nonfinite import LARGEST, Origin, find_origin
from ascend_workbook.precision.record import kernels_of_operator

BASIS = "facts"
#: Below the first divergence: what overflows may have been wrong before.
WEIGHT = 250.0


def check_nonfinite(facts: Comparison) -> Iterator[Finding]:
    """ACC232: which operator made the first infinity or NaN, or how it came in; on the target, and on the baseline."""
    if facts.stopped:  # ACC230 says that nothing was judged
        return
    for side in ("target", "baseline"):
        origins = [(step, origin) for step in facts.steps if (origin := find_origin(step.pairing, side))]
        if origins:
            step, first = min(origins, key=lambda pair: (pair[0].step, pair[1].operator.order))
            ranks = sorted({earlier.rank for earlier, _ in origins if earlier.step == step.step})
            yield _report_nonfinite(step, first, ranks)


def _report_nonfinite(step: StepComparison, first: Origin, ranks: list[int]) -> Finding:
    operator, record = first.operator, first.record
    args: dict[str, Scalar] = {"side": Sentence(f"precision.side_{first.side}"), "operator": list(first.names)}
    args.update(receiver=operator.name, kind=Sentence(f"ACC232.{first.kind}"), step=step.step, ranks=ranks)
    args.update(slot=record.slot, dtype=record.dtype, limit=LARGEST.get(record.dtype), expected=first.expected)
    args["kernels"] = list(kernels_of_operator(operator)) or None
    args["place"] = str(operator.place) if operator.place else None
    return Finding("ACC232", Status.FIX, f"ACC232.{first.how}", args, operator.place, weight=WEIGHT)


def check_confirmed(facts: Comparison) -> Iterator[Finding]:
    """ACC233: the named operator run again on the devices that are here, from its saved inputs: what that says of
    it."""
    confirmation = facts.confirmation
    if confirmation is None:
        return
    judged = confirmation.judged
    args: dict[str, Scalar] = {"operator": judged.name, "side": Sentence(f"precision.side_{judged.side}")}
    args.update(runs=list(map(_describe_run, confirmation.runs)), allowed=judged.allowed, own=judged.own_error)
    place = judged.agreement.pair.target.place
    status = Status.NOT_LOOKED if confirmation.verdict == devices.UNKNOWN else Status.LOOK
    yield Finding("ACC233", status, f"ACC233.{confirmation.verdict}", args, place, weight=200)


def _describe_run(run: Again) -> Scalar:
    if run.failed:
        return Sentence("ACC233.run_failed", tier=run.tier, error=run.failed)
    key = "ACC233.run" if run.double is None else "ACC233.run_double"
    return Sentence(key, tier=run.tier, saved=run.saved, single=run.single, double=run.double)


RULES = {"ACC232": check_nonfinite, "ACC233": check_confirmed}
