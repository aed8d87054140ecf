"""What keeps a step from being shorter: a finding a cause, the dearest first."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.profiling.causes.cause import COUNTS
from ascend_workbook.profiling.facts import Profile

CODE = "PRF316"
BASIS = {"PRF316": "observed"}
#: Of the step: a cause from which a reader is to look. Work is not lost, and what comes once is gone in a longer run.
MUCH = 0.25
NOT_LOST = frozenset({*COUNTS, "start_up", "midflight", "profiler"})


def check(profile: Profile) -> Iterator[Finding]:
    """What keeps a step from being shorter, and where in the script? Each stretch in which the device rests is read:
    the innermost call that the host is in then, summed by cause and place."""
    causes = profile.causes
    if causes and causes[0].kind == "untold":
        raise CannotCheck(causes[0].evidence.key, **causes[0].evidence.args)
    for cause in causes:
        lost = cause.share >= MUCH and cause.confidence != "unsure" and cause.kind not in NOT_LOST
        status = Status.LOOK if lost and not profile.simulated else Status.NOTE
        yield Finding(CODE, status, cause.evidence.key, cause.evidence.args, weight=cause.weight)
    if not causes:
        yield Finding(CODE, Status.GOOD, "PRF316.none")
