"""Did operators fall back to the CPU? Each copies its inputs to the host and its results back.

torch marks it: a fallback calls aten::_to_cpu on what it takes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from helpers.finding import Finding
from helpers.profiling.attribution import nestings
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, called_from
from helpers.rules import CannotCheck

CODE = "PRF366"
SOURCE = "https://gitcode.com/Ascend/pytorch"
MARK = "aten::_to_cpu"


def check(profile: Profile) -> Iterator[Finding]:
    trace = profile.trace
    if profile.tier in ("cpu", ""):
        raise CannotCheck("advice.no_accelerator", topic={"say": "PRF366.topic"})
    if not trace.count("host_op"):
        raise CannotCheck("advice.no_host", topic={"say": "PRF366.topic"})
    at = np.flatnonzero(trace.named(MARK.__eq__) & (trace.step >= 0))
    callers = _around(profile, at) if at.size else at
    spent = int(trace.duration_ns[callers].sum()) / max(1, len(trace.steps)) / profile.breakdown.step_ns
    share = min(spent, profile.breakdown.share("free") + profile.breakdown.share("copy")) if callers.size else 0.0
    names = sorted({trace.names[trace.name[row]] for row in callers.tolist()})[:6]
    where = called_from(profile, int(callers[0])) if callers.size else ""
    worth = 0.0 if callers.size else 1.0
    yield advice(profile, "PRF366.change", share, SOURCE, worth=worth, operators=list(names), where=where or None)


def _around(profile: Profile, marks: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """The operators that directly enclose the marks, each once."""
    trace = profile.trace
    hosts = np.flatnonzero(trace.where(("host_op",)))
    threads = nestings(trace.lane[hosts], trace.start_ns[hosts], trace.duration_ns[hosts], hosts)
    found = []
    for thread in threads.values():
        rows, parent = np.asarray(thread.rows), np.asarray(thread.parent)
        above = parent[np.isin(rows, marks)]
        found.append(rows[above[above >= 0]])
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.intp)
