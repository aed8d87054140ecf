"""Does the host wait for the device, and does the device then run dry?

`loss.item()`, `.cpu()` and `synchronize()` make the host wait until the device has nothing left to do; what
counts is the device's idle time that begins while the host waits. Without times of a real device the lines that read
values are told, for on an NPU each of them waits; what they cost there is not known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from helpers.finding import Finding, Status
from helpers.profiling.breakdown import gaps_begun_in
from helpers.profiling.facts import Profile
from helpers.profiling.savings import called_from, saving
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "PRF314"
BASIS = "reasoned"
#: `.item()`, `float(loss)`, `if tensor:` end in it
READ = "aten::_local_scalar_dense"
#: So many reads of a step are looked up: a search each
MOST = 50
#: `train.py(12): step` as the profilers write a line
FRAME = re.compile(r"^(.+?)\((\d+)\).*$")


def check(profile: Profile) -> Iterator[Finding]:
    if not profile.device_times and (read := _reads(profile)):
        yield read
        return
    if profile.tier == "cpu":
        yield Finding(CODE, Status.OK, "PRF314.cpu")
        return
    if not profile.device_times:
        raise CannotCheck("PRF314.no_device")
    if not profile.trace.count("host_op", "runtime"):
        raise CannotCheck("PRF314.no_host")
    steady = profile.breakdown.steady
    lost = gaps_begun_in(profile.gaps, profile.waiting)
    share = lost / sum(step.total_ns for step in steady)
    yield saving(profile, CODE, share, good="harmless", bad="dry")


def _reads(profile: Profile) -> Finding | None:
    """Which lines of the script read values, those of one steady step looked at; None where none does, or where host
    operators are no script's work. What a loader reads, and an optimizer of its
    counters, which lie on the host, waits for no device."""
    trace, steady = profile.trace, profile.breakdown.steady
    if not profile.conclusive:
        return None
    looked_at = trace.in_steps({step.number for step in steady})
    rows = np.flatnonzero(trace.named(READ.__eq__) & trace.where(("host_op",)) & looked_at)
    optimizers = trace.named(lambda name: name.startswith("Optimizer.step#"))
    hosts = trace.where(("loading",)) | (trace.where(("annotation",)) & optimizers)
    rows = rows[~trace.intervals(hosts).covers(trace.start_ns[rows])]
    if not rows.size:
        return None
    lines = Counter(called_from(profile, row) for row in rows[trace.step[rows] == trace.step[rows[0]]][:MOST].tolist())
    where: list[Scalar] = [FRAME.sub(r"\1:\2", line) for line, _ in lines.most_common(3) if line]
    args: dict[str, Scalar] = {"calls": round(rows.size / len(steady), 1)}
    if not where:
        return Finding(CODE, Status.NOTE, "PRF314.read_somewhere", args)
    return Finding(CODE, Status.NOTE, "PRF314.read", {**args, "where": where})
