"""Does the breakdown agree with the profiler's own table?

torch_npu writes step_trace_time.csv beside its timeline. Both come from the same events, so where they part
one of them is wrong: an unknown kind of task, or a timeline that was cut.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile

CODE = "PRF306"
BASIS = "observed"
ALLOWED_NS = 1000


def check(profile: Profile) -> Iterator[Finding]:
    mine = {step.number: step for step in profile.breakdown.steps}
    shared = [(mine[number], row) for number, row in profile.told.items() if number in mine]
    apart = {
        step.number: step.parts_ns["computing"] - row["Computing"]
        for step, row in shared
        if abs(step.parts_ns["computing"] - row["Computing"]) > ALLOWED_NS
    }
    if apart:
        worst = max(apart, key=lambda number: abs(apart[number]))
        args = {"steps": len(apart), "of": len(shared), "step": worst, "apart_ms": profile.ms(abs(apart[worst]))}
        yield Finding(CODE, Status.WARN, "PRF306.apart", dict(args))
    elif shared:
        yield Finding(CODE, Status.OK, "PRF306.same", {"steps": len(shared)})
