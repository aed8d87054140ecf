"""Exposed communication by what could make it shorter: gradients, exchanges between two ranks, and the rest; each as
waiting for a member that comes late, which no other way to send shortens, and as transmission."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ascend_workbook.profiling.breakdown import StepTime
from ascend_workbook.profiling.intervals import I64, Intervals
from ascend_workbook.profiling.ranks.collectives import calls_at
from ascend_workbook.profiling.ranks.facts import Calls, is_pairwise
from ascend_workbook.profiling.trace import Trace

#: Gradients are summed over the ranks, by DDP whole and by sharding optimizers in pieces
GRADIENTS = ("allreduce", "reducescatter")
NOBODY = -1
KINDS = ("gradients", "pairwise", "others")


@dataclass(frozen=True)
class Exposed:
    """Nanoseconds of the steady steps, by KINDS; all together no more than the exposed time. `transmission_ns` is the
    most that can be transmission: where a collective's waiting is not told it is all of it, in `untold_ns` too.
    `peer`: the member of its group that was waited for longest, NOBODY where not told. `spans_ns`: how long each
    collective of gradients takes, hidden or not."""

    transmission_ns: dict[str, int]
    waiting_ns: dict[str, int]
    untold_ns: dict[str, int]
    peer: int
    spans_ns: I64


def measure_exposed(trace: Trace, steps: Sequence[StepTime]) -> Exposed:
    """Measure what no computing hides of the steps' collectives."""
    source = Path(trace.source)
    calls = calls_at(source.parent if source.suffix == ".db" else source, trace)
    begin, end = (steps[0].start_ns, steps[-1].end_ns) if steps else (0, 0)
    inside = (calls.end_ns > begin) & (calls.start_ns < end)
    kind = np.array([KINDS.index(kind_of(collective)) for collective in calls.kind], np.int64)
    bare = np.where(inside, _bare_ns(calls, trace.intervals_of(trace.where(("compute",))), begin, end), 0)
    sent = np.minimum(bare, calls.duration_ns - np.maximum(calls.told_wait_ns, 0))
    untold = np.where(calls.told_wait_ns < 0, bare, 0)
    waited = bare - sent
    peers = {peer: int(waited[calls.peer == peer].sum()) for peer in np.unique(calls.peer).tolist()}
    by_kind = [{name: int(ns[kind == at].sum()) for at, name in enumerate(KINDS)} for ns in (sent, waited, untold)]
    longest = max(peers, key=peers.__getitem__, default=NOBODY)
    return Exposed(by_kind[0], by_kind[1], by_kind[2], longest, calls.duration_ns[inside & (kind == 0)])


def kind_of(collective: str) -> str:
    """Return what a collective of this name is for: one of KINDS."""
    name = collective.lower().replace("_", "")
    return "gradients" if name.startswith(GRADIENTS) else "pairwise" if is_pairwise(name) else "others"


def _bare_ns(calls: Calls, computing: Intervals, begin: int, end: int) -> I64:
    """Return of each call, which come in order of time, what neither computing nor an earlier call covers: (n,)."""
    reached = np.concatenate([[begin], np.maximum.accumulate(calls.end_ns)[:-1]]) if len(calls) else calls.start_ns
    first = np.maximum(np.maximum(calls.start_ns, reached), begin)
    last = np.maximum(first, np.minimum(calls.end_ns, end))
    bare: I64 = last - first - (computing.before_ns(last) - computing.before_ns(first))
    return bare
