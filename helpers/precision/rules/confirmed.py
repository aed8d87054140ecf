"""ACC233: the named operator run again on the devices that are here, from its saved inputs: what that says of it."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison
from helpers.precision.divergence import devices
from helpers.precision.divergence.devices import Again
from helpers.words import Scalar

CODE = "ACC233"
BASIS = "facts"
STATUS = {devices.AGAIN: Status.WARN, devices.ONLY_DTYPE: Status.WARN, devices.NOT_AGAIN: Status.WARN,
          devices.UNKNOWN: Status.SKIPPED}  # fmt: skip


def check(facts: Comparison) -> Iterator[Finding]:
    found = facts.confirmation
    if found is None:
        return
    args: dict[str, Scalar] = {
        "operator": found.judged.name,
        "side": {"say": f"precision.side_{found.judged.side}"},
        "runs": [_told(run) for run in found.runs],
        "allowed": found.judged.allowed,
        "own": found.judged.own_error,
    }
    place = found.judged.agreement.pair.target.place
    yield Finding(CODE, STATUS[found.verdict], f"ACC233.{found.verdict}", args, place, weight=200)


def _told(run: Again) -> Scalar:
    if run.failed:
        return {"say": "ACC233.run_failed", "args": {"tier": run.tier, "error": run.failed}}
    key = "ACC233.run" if run.double is None else "ACC233.run_double"
    return {"say": key, "args": {"tier": run.tier, "saved": run.saved, "single": run.single, "double": run.double}}
