"""`find_causes`: why a step is not shorter, the dearest cause first, each with its place and what tells it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.breakdown import idle_gaps
from ascend_workbook.profiling.causes.cause import KINDS, Cause
from ascend_workbook.profiling.causes.marks import describe_frame
from ascend_workbook.profiling.causes.reading import LATE_NS, Gaps, Reader, Reading, choose_steps, find_gaps
from ascend_workbook.profiling.causes.sorting import (
    BUSY_NS,
    GENERIC,
    LATENCY,
    UNSEEN,
    Mask,
    Sorted,
    give_waits_their_gaps,
    sort_pieces,
)
from ascend_workbook.profiling.causes.threads import Rows
from ascend_workbook.profiling.causes.work import time_by_family
from ascend_workbook.profiling.intervals import I64, Intervals
from ascend_workbook.profiling.trace import KINDS as TRACE_KINDS
from ascend_workbook.profiling.trace import Trace

if TYPE_CHECKING:
    from ascend_workbook.profiling.facts import Profile

#: Of the step: what takes less is no cause worth a word
WORTH = 0.03
#: Gaps a step from which they are many, the length up to which one is short, and how much of all of them the longest
#: tenth may hold where they are alike
MANY, SHORT_NS, ALIKE = 20, 1_000_000, 0.9
#: Families of kernels whose share of the computing is a cause of its own
FAMILY_WORTH = {"casting": 0.15, "layout": 0.15}


CALLS = [TRACE_KINDS.index(kind) for kind in ("host_op", "runtime", "python")]


@dataclass(frozen=True)
class _Facts:
    """What the gaps of a profile's steps hold."""

    profile: Profile
    gaps: Gaps
    reading: Reading
    sorted: Sorted
    scale: float  # nanoseconds of the pieces -> nanoseconds of the mean step

    @property
    def trace(self) -> Trace:
        return self.profile.trace


def find_causes(profile: Profile) -> tuple[Cause, ...]:
    """Find why a profile's steps are not shorter, the dearest cause first; none where nothing is worth a word, `untold`
    alone where the profile cannot say."""
    if not profile.conclusive:
        key = "PRF316.nothing" if not profile.operators else "PRF316.blind"
        return (Cause("untold", 0.0, 0.0, "", Sentence(key), "unsure"),)
    causes = [cause for cause in (*_causes_of_rest(profile), *_causes_of_work(profile)) if cause.share >= WORTH]
    return tuple(sorted(causes, key=lambda cause: -cause.weight))


def _causes_of_rest(profile: Profile) -> Iterator[Cause]:
    facts = _read(profile)
    if not len(facts.reading.pieces):
        return
    length = facts.reading.length_ns
    named = facts.sorted.kind < GENERIC
    for number in np.unique(facts.sorted.kind[named]).tolist():
        chosen = facts.sorted.kind == number
        yield _make_cause(facts, KINDS[number], chosen)
    rest = ~named
    if int(length[rest].sum()) * facts.scale >= WORTH * profile.breakdown.step_ns:
        yield from _judge_generic(facts, rest)


def _read(profile: Profile) -> _Facts:
    trace = profile.trace
    steps = choose_steps(trace, profile.breakdown.steady)
    rest = idle_gaps(trace, steps) if trace.on_device else _host_gaps(profile)
    gaps = find_gaps(trace, rest)
    reading = Reader(trace, rest).read_gaps(gaps)
    reading, result = give_waits_their_gaps(trace, gaps, reading, sort_pieces(trace, gaps, reading))
    share = sum(step.total_ns for step in steps)
    return _Facts(profile, gaps, reading, result, profile.breakdown.step_ns / share if share else 0.0)


def _host_gaps(profile: Profile) -> Intervals:
    """Return when no operator runs in the steps of a profile without a device."""
    trace, steps = profile.trace, profile.breakdown.steady
    covered = trace.intervals_of(trace.where(("host_op",)))
    edges = np.array([(step.start_ns, step.end_ns) for step in steps], np.int64).reshape(-1, 2)
    return covered.gaps_in(edges[:, 0], edges[:, 1])


def _make_cause(facts: _Facts, kind: str, chosen: Mask, confidence: str = "sure") -> Cause:
    length = facts.reading.length_ns[chosen]
    spent = float(length.sum()) * facts.scale
    where, part = _dearest_place(facts, facts.sorted.place[chosen], length)
    share = spent / facts.profile.breakdown.step_ns
    args: dict[str, Scalar] = {
        "gain_ms": facts.profile.to_ms(spent),
        "share": round(100 * share, 1),
        "place": _say_place(where, part),
    }
    return Cause(kind, spent, share, where, Sentence(f"PRF316.{kind}", **args), confidence)


def _say_place(where: str, part: float) -> Sentence:
    """Say where most of a cause is spent."""
    if not where:
        return Sentence("profiling.cause_nowhere")
    return Sentence("profiling.cause_at", where=where, part=round(100 * part))


def _dearest_place(facts: _Facts, place: Rows, length: I64) -> tuple[str, float]:
    """Return the name of the place on which most was spent, and its part of all."""
    trace = facts.trace
    name = np.where(place >= 0, trace.name[np.maximum(place, 0)], -1)
    names, at = np.unique(name, return_inverse=True)
    spent = np.zeros(names.size, np.int64)
    np.add.at(spent, at, length)
    known = np.where(names >= 0, spent, -1)
    if not names.size or known.max() < 0:
        return "", 0.0
    best = int(known.argmax())
    return describe_frame(trace.names[int(names[best])]), float(spent[best] / max(1, spent.sum()))


def _judge_generic(facts: _Facts, rest: Mask) -> Iterator[Cause]:
    """Judge the pieces that no call's name explains: a function that is busy for long, many short gaps that are alike,
    or nothing that can be told."""
    trace, kind, length = facts.trace, facts.sorted.kind, facts.reading.length_ns
    gap, place = facts.reading.pieces.gap, facts.sorted.place
    name = np.where(place >= 0, trace.name[np.maximum(place, 0)].astype(np.int64), -1)
    key = gap * np.int64(len(trace.names) + 1) + name + 1
    _, at = np.unique(key, return_inverse=True)
    in_gap = np.zeros(int(at.max(initial=-1)) + 1, np.int64)
    np.add.at(in_gap, at, np.where(rest & (kind == GENERIC), length, 0))
    busy = rest & (kind == GENERIC) & (in_gap[at] >= BUSY_NS)
    called = np.isin(trace.kind[np.maximum(place, 0)], CALLS) & (place >= 0)
    many = np.unique(gap[rest]).size / max(1, len(facts.profile.breakdown.steady)) >= MANY
    if many and not trace.count_events("python"):
        busy &= called  # what goes on between operators was not recorded
    for number in np.unique(name[busy]).tolist():
        chosen = busy & (name == number)
        yield _make_cause(facts, "python", chosen, "likely" if number >= 0 else "unsure")
    late = rest & (kind == LATENCY) & (length >= LATE_NS)
    if late.any():
        yield _make_cause(facts, "untold", late, "unsure")
    unseen = rest & (kind == UNSEEN) & (length >= BUSY_NS) & (not many or trace.count_events("python") > 0)
    if unseen.any():
        yield _make_cause(facts, "python", unseen, "unsure")
    short = rest & ~busy & ~late & ~unseen
    if short.any():
        count = np.unique(gap[short]).size / max(1, len(facts.profile.breakdown.steady))
        seen = int(length[short & (kind != UNSEEN)].sum()) * 2 >= int(length[short].sum())
        yield _make_cause(facts, "tiny_kernels" if seen or count >= MANY else "untold", short, _sure_if(count >= MANY))


def _sure_if(told: bool) -> str:
    return "sure" if told else "unsure"


def _causes_of_work(profile: Profile) -> Iterator[Cause]:
    breakdown, trace = profile.breakdown, profile.trace
    step_ns = breakdown.step_ns
    if not profile.device_times:
        return
    for part, kind in (("communication", "communication"), ("copy", "blocked_copy")):
        share = breakdown.share_of(part)
        args: dict[str, Scalar] = {"gain_ms": profile.to_ms(share * step_ns), "share": round(100 * share, 1)}
        if share >= WORTH:
            yield Cause(kind, share * step_ns, share, "", Sentence(f"PRF316.exposed_{part}", **args))
    share = breakdown.share_of("computing")
    rows = np.flatnonzero(trace.where(("compute",)) & trace.in_steps({step.number for step in breakdown.steady}))
    families = time_by_family(trace, rows)
    total = sum(families.values())
    if not total:
        return
    left = share
    for family, worth in FAMILY_WORTH.items():
        of_all = families.get(family, 0) / total
        if of_all >= worth:
            left -= of_all * share
            yield _work_cause(profile, family, of_all * share, family)
    first = max((name for name in families if name not in FAMILY_WORTH), key=families.__getitem__, default="")
    if first:
        yield _work_cause(profile, "computing", left, first)


def _work_cause(profile: Profile, kind: str, share: float, family: str) -> Cause:
    step_ns = profile.breakdown.step_ns
    args: dict[str, Scalar] = {"gain_ms": profile.to_ms(share * step_ns), "share": round(100 * share, 1)}
    args["where"] = family
    where = family if kind == "computing" else ""
    return Cause(kind, share * step_ns, share, where, Sentence(f"PRF316.{kind}_work", **args))
