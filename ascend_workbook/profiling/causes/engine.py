"""`find_causes`: why a step is not shorter, the dearest cause first, each with its place and what tells it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.breakdown import idle_gaps
from ascend_workbook.profiling.causes.cause import KINDS, Cause, Range
from ascend_workbook.profiling.causes.contention import find_contended
from ascend_workbook.profiling.causes.host import causes_of_cpu_work, causes_of_unseen_device, find_collectives_beside
from ascend_workbook.profiling.causes.marks import BIT, describe_frame, function_of, mark_names
from ascend_workbook.profiling.causes.reading import LATE_NS, Gaps, Reader, Reading, choose_steps, find_gaps
from ascend_workbook.profiling.causes.replay import Recorded, lay_out, record_step
from ascend_workbook.profiling.causes.sorting import (
    BUSY_NS,
    GENERIC,
    LATENCY,
    UNSEEN,
    Mask,
    Sorted,
    give_contended,
    give_waits_their_gaps,
    join_functions,
    sort_pieces,
)
from ascend_workbook.profiling.causes.threads import HOST, Rows
from ascend_workbook.profiling.causes.work import elements_of, families_of
from ascend_workbook.profiling.intervals import I64, Intervals
from ascend_workbook.profiling.trace import KINDS as TRACE_KINDS
from ascend_workbook.profiling.trace import Trace

if TYPE_CHECKING:
    from ascend_workbook.profiling.facts import Profile

#: A recording that is shorter tells nothing of a step
LEAST_NS = 20_000
#: Of the step: what takes less is no cause worth a word
WORTH = 0.03
#: The same on a simulated NPU, by kind and of all others, and how many kernels a step are many there
SIMULATED_WORTH = {
    "python": 0.09,
    "tiny_kernels": 0.25,
    "layout": 0.12,
    "casting": 0.12,
    "synchronisation": 0.12,
}
OWN_WORTH, SIMULATED_MANY = 0.05, 600
#: Elements of a tensor below which a kernel is small: an NPU needs longer to start one
SMALL = 2**16
#: Gaps a step from which they are many; alike where half of what they take is in gaps of so many times the median one,
#: and short where that is at most so long
MANY, ALIKE, SHORT_NS = 20, 10, 1_000_000
#: A piece in which nothing at all was recorded of the host, and that is no hand-out of a small kernel
LONG_UNSEEN_NS = 10_000_000
#: Families of kernels whose share of the computing is a cause of its own
FAMILY_WORTH = {"casting": 0.15, "layout": 0.15}


#: Of these all that the host does of the kind is taken away, hidden or not
WHOLE = ("loading", "preprocessing", "checkpoint", "logging", "garbage")
CALLS = [TRACE_KINDS.index(kind) for kind in ("host_op", "runtime", "python")]


@dataclass(frozen=True)
class _Facts:
    """What the gaps of a profile's steps hold."""

    profile: Profile
    gaps: Gaps
    reading: Reading
    sorted: Sorted
    scale: float  # nanoseconds of the pieces -> nanoseconds of the mean step
    recorded: Recorded | None = None  # a usual step, to be laid out anew

    @property
    def trace(self) -> Trace:
        return self.profile.trace


def find_causes(profile: Profile) -> tuple[Cause, ...]:
    """Find why a profile's steps are not shorter, the dearest cause first; none where nothing is worth a word, `untold`
    alone where the profile cannot say."""
    if profile.breakdown.total_ns < LEAST_NS:
        return (Cause("untold", 0.0, 0.0, "", Sentence("PRF316.nothing"), "unsure"),)
    if not profile.conclusive:
        seen = tuple(causes_of_unseen_device(profile)) if profile.operators and profile.trace.cut_at is None else ()
        if seen:
            return seen
        key = "PRF316.nothing" if not profile.operators else "PRF316.blind"
        return (Cause("untold", 0.0, 0.0, "", Sentence(key), "unsure"),)
    rest = tuple(_causes_of_rest(profile))
    tiny = next((cause.where for cause in rest if cause.kind == "tiny_kernels"), "")
    candidates = (*rest, *_causes_of_work(profile), *_count_kernels(profile, tiny))
    causes = [cause for cause in candidates if _is_worth(profile, cause)]
    return tuple(sorted(causes, key=lambda cause: -cause.weight))


def _is_worth(profile: Profile, cause: Cause) -> bool:
    """Return whether a cause is worth a word. On a simulated NPU, whose kernels are the CPU's, what the host needs to
    hand out work says nothing: there it counts by the number of kernels, and nothing that is small or not sure."""
    if not profile.simulated:
        return cause.share >= WORTH
    if cause.evidence.key == "PRF316.kernels":
        return True
    if cause.kind in ("untold", "profiler", "start_up", "lazy_loading") or cause.confidence == "unsure":
        return False
    return cause.share >= SIMULATED_WORTH.get(cause.kind, OWN_WORTH)


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
    result = join_functions(trace, reading, sort_pieces(trace, gaps, reading))
    result = give_contended(result, reading, find_contended(trace)) if not profile.simulated else result
    reading, result = give_waits_their_gaps(trace, gaps, reading, result)
    share = sum(step.total_ns for step in steps)
    usual = sorted(steps, key=lambda step: step.total_ns)[len(steps) // 2] if trace.on_device else None
    recorded = record_step(trace, usual, profile.waiting) if usual else None
    return _Facts(profile, gaps, reading, result, profile.breakdown.step_ns / share if share else 0.0, recorded)


def _host_gaps(profile: Profile) -> Intervals:
    """Return when no operator runs in the steps of a profile without a device, and no collective."""
    trace, steps = profile.trace, profile.breakdown.steady
    covered = trace.intervals_of(trace.where(("host_op",))) | find_collectives_beside(trace)[1]
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
    predicted = _predict(facts, kind, chosen, spent) if share >= WORTH else None
    return Cause(kind, spent, share, where, Sentence(f"PRF316.{kind}", **args), confidence, predicted)


def _predict(facts: _Facts, kind: str, chosen: Mask, spent: float) -> Range | None:
    """Predict what a mean step would be shorter by, from a usual one laid out anew without what the host does there;
    what the device rests for it is the other end of the range. None where that step is too long to lay out."""
    if facts.recorded is None:
        return None
    trace, recorded, pieces = facts.trace, facts.recorded, facts.reading.pieces.take(chosen)
    removed = Intervals.union_of(pieces.start_ns, pieces.end_ns)
    if kind in WHOLE:
        marked = mark_names(trace.names) & BIT[kind] > 0
        rows = marked[trace.name] & trace.where(HOST) & (trace.start_ns < recorded.end_ns)
        removed |= trace.intervals_of(rows & (trace.start_ns + trace.duration_ns > recorded.begin_ns))
    length = recorded.end_ns - recorded.begin_ns
    saved = max(0, length - lay_out(recorded, removed).step_ns) * facts.profile.breakdown.step_ns / length
    return Range(min(saved, spent), max(saved, spent))


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
    hands_out = (mark_names(trace.names) & BIT["launch"] > 0)[trace.name[np.maximum(facts.reading.row, 0)]]
    hands_out &= trace.where(("runtime",))[np.maximum(facts.reading.row, 0)] & (facts.reading.row >= 0)
    busy = rest & (kind == GENERIC) & (in_gap[at] >= BUSY_NS) & ~hands_out
    if facts.profile.simulated:  # what torch itself takes there is the CPU's
        busy = rest & (kind == GENERIC) & (facts.reading.row == facts.reading.frame) & (place >= 0)
        numbers: dict[str, int] = {}
        function = [numbers.setdefault(function_of(text), len(numbers)) for text in trace.names]
        name = np.where(place >= 0, np.array(function or [0])[trace.name[np.maximum(place, 0)]], -1)
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
    from_ns = BUSY_NS if not many or trace.count_events("python") else LONG_UNSEEN_NS
    unseen = rest & (kind == UNSEEN) & (length >= from_ns)
    # a span that somebody named, and nothing in it, is no hand-out of kernels either
    unseen |= rest & ~busy & ~called & (kind == GENERIC) & (length >= LONG_UNSEEN_NS)
    if unseen.any():
        yield _make_cause(facts, "python" if trace.count_events("python") else "untold", unseen, "unsure")
    short = rest & ~busy & ~late & ~unseen
    if short.any():
        count = np.unique(gap[short]).size / max(1, len(facts.profile.breakdown.steady))
        seen = int(length[short & (kind != UNSEEN)].sum()) * 2 >= int(length[short].sum())
        confidence = "unsure"
        if count >= MANY and not facts.profile.simulated:
            confidence = "sure" if _are_alike(gap[short], length[short]) else "likely"
        yield _make_cause(facts, "tiny_kernels" if seen or count >= MANY else "untold", short, confidence)


def _are_alike(gap: Rows, length: I64) -> bool:
    """Return whether gaps are short and alike, of the pieces (n,) that are in them."""
    _, at = np.unique(gap, return_inverse=True)
    lasts = np.bincount(at, length)
    usual = float(np.median(lasts))
    return usual <= SHORT_NS and 2 * float(lasts[lasts <= ALIKE * usual].sum()) >= float(lasts.sum())


def _count_kernels(profile: Profile, where: str) -> Iterator[Cause]:
    """On a simulated NPU kernels take what the CPU's do: where a step has very many that are small, they are counted,
    and what the host takes to hand them out."""
    trace, steady = profile.trace, profile.breakdown.steady
    rows = np.flatnonzero(trace.where(("compute",)))
    rows = rows[trace.in_steps({step.number for step in steady})[rows] & (trace.launched_by[rows] >= 0)]
    kernels = rows.size / max(1, len(steady))
    if not profile.simulated or kernels < SIMULATED_MANY:
        return
    by = trace.launched_by[rows]
    small = np.array([elements_of(shape) < SMALL for shape in trace.shapes])[trace.shape[by]]
    if 2 * int(small.sum()) < rows.size:
        return
    spent = profile.breakdown.per_step_ns("free")
    share = spent / profile.breakdown.step_ns
    args: dict[str, Scalar] = {"kernels": round(kernels), "small": round(100 * float(small.mean()))}
    args |= {"where": where or None, "gain_ms": profile.to_ms(spent), "share": round(100 * share, 1)}
    yield Cause("tiny_kernels", spent, share, where, Sentence("PRF316.kernels", **args), "likely")


def _causes_of_work(profile: Profile) -> Iterator[Cause]:
    breakdown, trace = profile.breakdown, profile.trace
    step_ns = breakdown.step_ns
    if not trace.on_device:
        yield from causes_of_cpu_work(profile)
        return
    for part, kind in (("communication", "communication"), ("copy", "blocked_copy")):
        share = breakdown.share_of(part)
        args: dict[str, Scalar] = {"gain_ms": profile.to_ms(share * step_ns), "share": round(100 * share, 1)}
        if share >= WORTH and profile.device_times:
            yield Cause(kind, share * step_ns, share, "", Sentence(f"PRF316.exposed_{part}", **args))
    share = breakdown.share_of("computing")
    steps = choose_steps(trace, breakdown.steady)
    rows = np.flatnonzero(trace.where(("compute",)) & trace.in_steps({step.number for step in steps}))
    total = int(trace.duration_ns[rows].sum())
    if not total:
        return
    families, at = np.unique(families_of(trace, rows), return_inverse=True)
    spent = np.bincount(at, trace.duration_ns[rows]) / total
    calls = np.bincount(at) / len(steps)
    part_of = dict(zip(families.tolist(), spent.tolist()))
    left = share
    for family, count in zip(families.tolist(), calls.tolist()):
        if part_of[family] >= FAMILY_WORTH.get(family, 2.0) and (profile.device_times or count >= MANY):
            left -= part_of[family] * share
            yield _work_cause(profile, family, part_of[family] * share, family)
    first = max((name for name in part_of if name not in FAMILY_WORTH), key=part_of.__getitem__, default="")
    if first and profile.device_times:
        yield _work_cause(profile, "computing", left, first)


def _work_cause(profile: Profile, kind: str, share: float, family: str) -> Cause:
    step_ns = profile.breakdown.step_ns
    args: dict[str, Scalar] = {"gain_ms": profile.to_ms(share * step_ns), "share": round(100 * share, 1)}
    args["where"] = family
    where = family if kind == "computing" else ""
    return Cause(kind, share * step_ns, share, where, Sentence(f"PRF316.{kind}_work", **args))
