"""A finding about time that a change could save: graded by its share of the step, with the bound in it."""

from __future__ import annotations

from helpers.finding import Finding, Status
from helpers.profiling.facts import Profile
from helpers.words import Scalar


def saving(
    profile: Profile, code: str, share: float, *, good: str, bad: str, worth: float = 0.03, much: float = 0.10
) -> Finding:
    """`share` (0 to 1) of the step is lost: `good` below `worth`, a NOTE from there, a WARN from `much` on.

    On a simulated NPU it stays a NOTE: what the CPU loses there says nothing about an NPU.
    """
    args: dict[str, Scalar] = {"share": round(100 * share, 1), "gain_ms": profile.ms(share * profile.breakdown.step_ns)}
    status = Status.OK if share < worth else Status.NOTE if share < much else Status.WARN
    if profile.simulated:
        status = min(status, Status.NOTE)
    return Finding(code, status, f"{code}.{bad if share >= worth else good}", args, weight=100 * share)
