"""What the host alone tells. On a CPU its operators are the work. Where an accelerator's part was not recorded, most of
what it does may still be told: that the host is busy with one thing for most of the time, and waits for no device."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.attribution import nest_by_lane
from ascend_workbook.profiling.causes.cause import Cause
from ascend_workbook.profiling.causes.contention import find_contended
from ascend_workbook.profiling.causes.marks import BIT, mark_names
from ascend_workbook.profiling.causes.sorting import CONTEXT_NS, LONG_CALL_NS, LONG_LAUNCH_NS
from ascend_workbook.profiling.causes.work import family_of_operator
from ascend_workbook.profiling.intervals import I64, Intervals
from ascend_workbook.profiling.trace import Trace

if TYPE_CHECKING:
    from ascend_workbook.profiling.facts import Profile

#: An operator that takes so long by itself computes on the CPU: one that hands out work does not
LONG_NS = 100_000
#: Of the step: what the host alone is believed from here on, and how much of it the host may wait for the device
MOST, MOST_WAITING = 0.5, 0.25
#: Operators of collectives that run on the host
COLLECTIVE = re.compile(
    r"^(gloo|mpi|ucc|xccl|nccl|hccl):|^c10d::|^_C::shm_\w*(reduce|gather)|::\w*(all_?reduce|all_?gather|reduce_?scatter"
    r"|all_?to_?all)\w*$"
)
RUNTIME = (
    ("start_up", "start_up", LONG_CALL_NS),
    ("allocation", "start_up", CONTEXT_NS),
    ("allocation", "allocation", LONG_CALL_NS),
    ("lazy_loading", "lazy_loading", LONG_CALL_NS),
    ("launch", "lazy_loading", LONG_LAUNCH_NS),
    ("copy", "blocked_copy", LONG_CALL_NS),
    ("wait", "waiting", 0),
)
Rows = npt.NDArray[np.int64]


class OwnTimes(NamedTuple):
    """Calls of the host in the steady steps, outside of loaders: their rows, and what each takes without what it calls:
    (n,) each."""

    rows: Rows
    own_ns: I64


def causes_of_cpu_work(profile: Profile) -> Iterator[Cause]:
    """Yield what a CPU works on: collectives, and the dearest family of its operators."""
    trace, breakdown = profile.trace, profile.breakdown
    own = _measure_own_times(profile, ("host_op",))
    is_sent = np.array([bool(COLLECTIVE.search(name)) for name in trace.names] or [False])
    sent = is_sent[trace.name[own.rows]]
    share, total = breakdown.share_of("computing"), max(1, int(own.own_ns.sum()))
    part = float(own.own_ns[sent].sum()) / total
    beside, waited = find_collectives_beside(trace)
    edges = np.array([(step.start_ns, step.end_ns) for step in breakdown.steady], np.int64).reshape(-1, 2)
    alone = Intervals.union_of(edges[:, 0], edges[:, 1]).common_ns(waited) / max(1, breakdown.total_ns)
    if part or alone:
        rows = np.concatenate([own.rows[sent], np.flatnonzero(beside)])
        where = _dearest_name(profile, trace.name[rows], trace.duration_ns[rows])
        yield _make_cause(profile, "communication", "host_collectives", part * share + alone, where)
    contended = find_contended(trace)
    steady = trace.in_steps({step.number for step in breakdown.steady})[contended.rows]
    lost = min(share, float(contended.lost_ns[steady].sum()) / max(1, breakdown.total_ns))
    if lost:
        where = _dearest_name(profile, trace.name[contended.rows], contended.lost_ns)
        yield _make_cause(profile, "contention", "host_contention", lost, where, "likely")
        share -= lost
    if own.own_ns[~sent].any():
        where = _dearest_family(profile, trace.name[own.rows[~sent]], own.own_ns[~sent])
        yield _make_cause(profile, "computing", "host_work", (1 - part) * share, where)


def find_collectives_beside(trace: Trace) -> tuple[npt.NDArray[np.bool_], Intervals]:
    """Find the collectives of a CPU that have threads of their own: a mask (n,) of them, and when they go on while no
    operator does."""
    beside = trace.where(("annotation",)) & trace.mask_of_names(COLLECTIVE.search)
    return beside, trace.intervals_of(beside) - trace.intervals_of(trace.where(("host_op",)))


def causes_of_unseen_device(profile: Profile) -> Iterator[Cause]:
    """Yield the one thing that the host is busy with for most of the time, where the device was not recorded; nothing
    where there is none, or where it waits for the device: then that is the slower of the two."""
    trace = profile.trace
    own = _measure_own_times(profile, ("host_op", "runtime"))
    total = profile.breakdown.total_ns
    if not own.rows.size or not total:
        return
    kind = _sort_calls(profile, own)
    spent = {name: float(own.own_ns[kind == name].sum()) / total for name in np.unique(kind).tolist() if name}
    steady = {step.number for step in profile.breakdown.steady}
    loading = trace.intervals_of(trace.where(("loading",)) & trace.in_steps(steady))
    spent["loading"] = loading.length_ns / total
    if spent.pop("waiting", 0.0) >= MOST_WAITING:
        return
    best = max(spent, key=spent.__getitem__)
    if spent[best] < MOST:
        return
    chosen = kind == best
    names = trace.name[own.rows[chosen]]
    launches = (mark_names(trace.names) & BIT["launch"] > 0)[trace.name] & trace.where(("runtime",))
    if best != "computing":
        where = _dearest_name(profile, names, own.own_ns[chosen]) if names.size else ""
        yield _make_cause(profile, best, "host_alone", spent[best], where, "likely")
    elif not launches.any() and not profile.tier and trace.dialect == "kineto":  # the work is done on the CPU
        where = _dearest_family(profile, names, own.own_ns[chosen])
        yield _make_cause(profile, "computing", "host_work", spent[best], where, "likely")
    elif launches.any():
        where = _dearest_name(profile, names, own.own_ns[chosen])
        same = np.array([name == where for name in trace.names])[trace.name[own.rows]]
        share = float(own.own_ns[chosen & same].sum()) / total
        if share >= MOST:
            yield _make_cause(profile, "python", "host_alone", share, where, "likely")


def _sort_calls(profile: Profile, own: OwnTimes) -> npt.NDArray[np.str_]:
    """Return for each call what it is time for, a word of the causes or `waiting`, empty where it tells nothing."""
    trace = profile.trace
    names, is_call = trace.name[own.rows], trace.where(("runtime",))[own.rows]
    marks, lasts = mark_names(trace.names)[names], trace.duration_ns[own.rows]
    sent = np.array([bool(COLLECTIVE.search(name)) for name in trace.names])[names]
    kind = np.full(own.rows.size, "", "U16")
    kind[~is_call & (own.own_ns >= LONG_NS)] = "computing"
    kind[~is_call & sent] = "communication"
    open_ones = is_call.copy()
    for mark, word, least in RUNTIME:
        chosen = open_ones & (marks & BIT[mark] > 0) & (lasts >= least)
        kind[chosen] = word
        open_ones &= ~chosen
    return kind


def _measure_own_times(profile: Profile, kinds: tuple[str, ...]) -> OwnTimes:
    trace = profile.trace
    chosen = trace.where(kinds) & trace.in_steps({step.number for step in profile.breakdown.steady})
    rows = np.flatnonzero(chosen & (trace.duration_ns > 0))
    rows = rows[~trace.intervals_of(trace.where(("loading",))).cover_moments(trace.start_ns[rows])]
    threads = nest_by_lane(trace.lane[rows], trace.start_ns[rows], trace.duration_ns[rows], rows).values()
    parts = [(thread.rows, np.maximum(thread.self_ns(), 0)) for thread in threads]
    if not parts:
        return OwnTimes(np.empty(0, np.int64), np.empty(0, np.int64))
    return OwnTimes(np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))


def _dearest_name(profile: Profile, names: npt.NDArray[np.integer], own_ns: I64) -> str:
    return profile.trace.names[int(np.bincount(names, own_ns).argmax())]


def _dearest_family(profile: Profile, names: npt.NDArray[np.integer], own_ns: I64) -> str:
    families: dict[str, float] = {}
    for name, ns in enumerate(np.bincount(names, own_ns).tolist()):
        if ns:
            family = family_of_operator(profile.trace.names[name])
            families[family] = families.get(family, 0.0) + ns
    return max(families, key=families.__getitem__)


def _make_cause(profile: Profile, kind: str, key: str, share: float, where: str, confidence: str = "sure") -> Cause:
    step_ns = profile.breakdown.step_ns
    args: dict[str, Scalar] = {"gain_ms": profile.to_ms(share * step_ns), "share": round(100 * share, 1)}
    if key == "host_alone":
        args["cause"] = Sentence(f"profiling.cause.{kind}")
    args["where"] = where or Sentence("profiling.cause_nowhere")
    return Cause(kind, share * step_ns, share, where, Sentence(f"PRF316.{key}", **args), confidence)
