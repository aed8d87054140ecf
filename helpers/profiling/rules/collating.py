"""Does the training process spend its loading on torch operators: decoding into floats, stacking a batch?

Converting once for the whole batch, on the device, is cheaper than once for each sample (a fast collate).
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice
from helpers.rules import CannotCheck

CODE = "PRF395"
SOURCE = "https://docs.pytorch.org/docs/stable/data.html"


def check(profile: Profile) -> Iterator[Finding]:
    trace = profile.trace
    if not profile.conclusive or not trace.count("loading"):
        raise CannotCheck("PRF395.unseen")
    within = trace.step >= 0
    loading = trace.intervals(trace.where(("loading",)) & within)
    inside = trace.where(("host_op",)) & within
    inside[inside] = loading.covers(trace.start_ns[inside])
    spent = trace.intervals(inside).length_ns / max(1, loading.length_ns)
    share = min(1.0, spent) * profile.breakdown.share("loading")
    key = "PRF395.change" if profile.device_times else "PRF395.change_host"
    yield advice(profile, key, share, SOURCE, calls=round(int(inside.sum()) / len(trace.steps)))
