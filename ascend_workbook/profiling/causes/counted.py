"""What a profile of a simulated NPU tells by counts, structure and the host's own time. Its kernels are the CPU's, so
their times say nothing; but the host is the host that will drive an NPU, the script's lines are its lines, and what it
launches, reads and copies is the same there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.attribution import Nesting
from ascend_workbook.profiling.causes.account import (
    WORTH_LOADER,
    account_for_functions,
    count_objects,
    find_dearest_line,
    find_other_threads,
    is_of_objects,
    tell_modes,
    tell_update,
    tell_watching,
)
from ascend_workbook.profiling.causes.casts import count_undone_casts
from ascend_workbook.profiling.causes.cause import TRUST, Cause
from ascend_workbook.profiling.causes.forwards import count_forwards
from ascend_workbook.profiling.causes.lines import (
    BACKWARD,
    COPYING_WAITS,
    EXPLAINED_BY_NAME,
    PLACE,
    SEEN_NS,
    Lines,
    Mask,
    count_outermost,
    find_launching,
    make_cause,
)
from ascend_workbook.profiling.causes.loops import count_alike_modules, count_loops, move_to_loop
from ascend_workbook.profiling.causes.marks import describe_frame
from ascend_workbook.profiling.causes.needless import count_needless
from ascend_workbook.profiling.causes.passes import count_derived_passes, count_vain_gradients
from ascend_workbook.profiling.causes.work import elements_of
from ascend_workbook.profiling.intervals import Intervals
from ascend_workbook.profiling.readers.lines import COLLECTION
from ascend_workbook.profiling.trace import Trace

if TYPE_CHECKING:
    from ascend_workbook.profiling.facts import Profile

#: Copies between host and device, as the script calls them
COPIES = ("aten::to", "aten::_to_copy", "aten::copy_", "aten::cpu")
#: A value that is read copies too, and is told as a read
READ = "aten::_local_scalar_dense"
#: A fallback calls this on what it takes
FALLBACK = "aten::_to_cpu"
#: From so many collectives a step on
MANY_COLLECTIVES = 20
#: `.item()`, `float(loss)`, `if tensor:`, a mask as an index end in it
READS = (READ,)
#: How large is what these return is known when the device has done them, so the host waits
SIZED_BY_VALUES = (
    *("aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive"),
    *("aten::bincount", "aten::equal", "aten::is_nonzero"),
)
#: Calls that wait until the device has nothing left to do, as the sampler of lines notes them
WAITS = re.compile(
    r"(Tensor\.(item|tolist|nonzero|cpu|numpy|to|__(bool|float|int|getitem|setitem)__)|torch\.(nonzero|masked_select)"
    r"|\w+\.synchronize)$"
)
#: These wait even where they bring nothing to the host
WAITS_ALWAYS = re.compile(r"(\w+\.(nonzero|masked_select|synchronize|__[gs]etitem__))$")
#: From so many waits a step on they are told: one or two are usual, a loss that is printed
MANY_WAITS = 4
#: Copies at one line, the same: a batch is a few tensors
MANY_COPIES = 16
#: They are dear where the script calls so few operators between two of them, they take so much of the step, or are so
#: many
OPERATORS_A_WAIT, WAITS_WORTH, VERY_MANY_WAITS = 7, 0.04, 50
#: Small kernels are many where the script calls so many operators for them
MANY_OPERATORS = 250
#: A collection of all of Python's garbage takes so long at least; so many, and one in so many steps: the script asks
LONG_COLLECTION_NS, FEW_COLLECTIONS, STEPS_A_COLLECTION = 1_000_000, 3, 4
#: Gives the device's memory back, to be reserved anew: no step needs it
EMPTYING = re.compile(r"(npu|cuda)\.empty_cache$")
#: Of the step, from here on a word: copies of the script, fallbacks, collectives
WORTH = {"loading": WORTH_LOADER, "blocked_copy": 0.12, "fallback": 0.08, "communication": 0.12}
#: The same of a loader that takes as long as all that an NPU's host would do besides
LOADING_WORTH = 0.1
#: A line computes more than all others from this part of the elements on that kernels work on
MOST_WORK = 0.5
#: These say that a place is busy, and not with what
GENERAL = ("PRF316.computes", "PRF316.function", "PRF316.python", "PRF316.on_host")
#: The line in a place, `train.py:41 save`
LINE = re.compile(r":\d+ ")
#: Causes that say by themselves why a line copies or reads
TOLD = ("checkpoint", "logging", "loading", "preprocessing", "compiling")


def add_counted(profile: Profile, causes: tuple[Cause, ...]) -> tuple[Cause, ...]:
    """Add to the causes of a simulated NPU's profile what counts tell, give those without a place the line that
    launches most of their kernels, and say what the step would be shorter by; others stay as they are."""
    if not profile.simulated or not profile.conclusive:
        return causes
    lines = Lines(profile)
    # collections that come by themselves fall into one step or another; those that a line asks for are counted
    causes = tuple(cause for cause in causes if cause.kind != "garbage" or not lines.frames)
    causes = tuple(cause for cause in causes if cause.kind != "python" or lines.recurs(cause.where))
    causes = tuple(cause for cause in causes if cause.kind != "checkpoint" or not is_of_objects(lines))
    if lines.frames is not None:
        causes = tuple(cause for cause in causes if cause.kind not in EXPLAINED_BY_NAME or cause.spent_ns >= SEEN_NS)
    causes = tuple(lines.tell_from_samples(cause) if cause.kind == "preprocessing" else cause for cause in causes)
    told_lines = {cause.where for cause in causes if cause.kind in TOLD}
    counted = [cause for cause in _count_causes(lines) if cause.where not in told_lines or cause.kind == "loading"]
    kinds = {cause.kind for cause in counted}
    if lines.operators < MANY_OPERATORS:
        causes = tuple(cause for cause in causes if cause.evidence.key != "PRF316.kernels")
    rest = [lines.place_cause(cause) for cause in causes if cause.kind not in kinds and cause.kind != "untold"]
    rest = [lines.weigh_loading(cause) if cause.kind == "loading" else cause for cause in rest]
    rest = [cause for cause in rest if cause.kind != "loading" or _is_slow_loading(lines, cause)]
    # a copy within an operator of torch, as a gradient is put together: no line of the script asks for it
    rest = [cause for cause in rest if cause.kind != "blocked_copy" or PLACE.search(cause.where)]
    named = [lines.predict(move_to_loop(lines, cause)) for cause in (*counted, *rest)]
    return tuple(sorted(_say_once(lines, named), key=_order_of))


def _say_once(lines: Lines, causes: list[Cause]) -> Iterator[Cause]:
    """Yield one of those that tell of the same place, as sure as the surest of them: its gaps and its frames tell the
    same time twice. A loop of it says more than that it is busy, which is not told where what it does takes twice that,
    or is told by two others; else the dearest does. Of a function that holds the loop of the steps the lines are
    apart."""
    at_place: dict[tuple[str, str], list[Cause]] = {}
    share_at: dict[str, float] = {}
    kinds_at: dict[str, set[str]] = {}
    for cause in causes:
        if cause.evidence.key not in (*GENERAL, "PRF316.line") and cause.where:
            place = _place_of(lines, cause)[1]
            share_at[place] = max(cause.share, share_at.get(place, 0.0))
            kinds_at.setdefault(place, set()).add(cause.kind)
    for cause in causes:
        if cause.evidence.key == "PRF316.line" and _place_of(lines, cause)[1] in share_at:
            continue
        place = _place_of(lines, cause)[1]
        is_told = 2 * cause.share <= share_at.get(place, 0.0) or len(kinds_at.get(place, ())) > 1
        if cause.evidence.key in GENERAL and is_told:
            continue  # what it is busy with is told
        at_place.setdefault(_place_of(lines, cause), []).append(cause)
    for (_, where), causes_there in at_place.items():
        if where:
            first = max(causes_there, key=_rank_of)
            yield replace(first, confidence=max((cause.confidence for cause in causes_there), key=TRUST.__getitem__))
        else:
            yield from causes_there


def _order_of(cause: Cause) -> tuple[bool, float]:
    """Return what orders causes: what slows all of Python, nobody knows how much, comes behind all that is measured at
    its place."""
    return cause.kind == "profiler" and cause.evidence.key == "PRF316.watched", -cause.weight


def _rank_of(cause: Cause) -> tuple[bool, bool, float]:
    """Return how much a cause says beside others of its kind and place."""
    key = cause.evidence.key
    return key == "PRF316.loops", key not in GENERAL, cause.weight


def _place_of(lines: Lines, cause: Cause) -> tuple[str, str]:
    """Return what kind of thing a cause tells of, and in which function, or at which line of the loop's."""
    return cause.kind, cause.where if lines.is_of_loop(cause.where) else LINE.sub(" ", cause.where)


def _is_slow_loading(lines: Lines, cause: Cause) -> bool:
    """Return whether loading takes much of the step as it is here, or most of it where an NPU computes in no time."""
    if cause.share >= WORTH["loading"]:
        return True
    return cause.share >= LOADING_WORTH and cause.spent_ns >= lines.handed_ns


def count_work(profile: Profile) -> dict[str, float]:
    """Count what a step's kernels work on, elements by the line of the script that the host is at: on a simulated NPU
    this tells what differs between ranks, whose kernels take turns on one CPU."""
    lines, trace = Lines(profile), profile.trace
    rows = np.flatnonzero(trace.where(("compute",)) & lines.steady & (trace.launched_by >= 0))
    if lines.frames is None or not rows.size:
        return {}
    by = trace.launched_by[rows].astype(np.intp)
    elements = np.array([elements_of(shape) for shape in trace.shapes])[trace.shape[by]]
    names = lines.lines_at(trace.start_ns[by])
    known = names >= 0
    total = np.bincount(names[known], weights=elements[known])
    return {describe_frame(trace.names[at]): float(total[at]) / lines.steps for at in np.flatnonzero(total).tolist()}


def count_work_below(profile: Profile) -> dict[str, float]:
    """Count the same by each line that the host is in, however deep: what the lines do that it calls is its own too."""
    lines, trace = Lines(profile), profile.trace
    rows = np.flatnonzero(trace.where(("compute",)) & lines.steady & (trace.launched_by >= 0))
    if lines.frames is None or not rows.size:
        return {}
    by = trace.launched_by[rows].astype(np.intp)
    elements = np.array([elements_of(shape) for shape in trace.shapes])[trace.shape[by]]
    place = np.full(len(trace), -1, np.int64)
    place[lines.frames.rows] = np.arange(lines.frames.rows.size)
    inner = lines.frames.innermost_at(trace.start_ns[by])
    at, before = np.where(inner >= 0, place[np.maximum(inner, 0)], -1), np.full(by.size, -1, np.int64)
    total = np.zeros(len(trace.names))
    while (at >= 0).any():
        name = np.where(at >= 0, trace.name[lines.frames.rows[np.maximum(at, 0)]], -1)
        is_new = (at >= 0) & (name != before)
        np.add.at(total, name[is_new], elements[is_new])
        at, before = np.where(at >= 0, lines.frames.parent[np.maximum(at, 0)], -1), name
    return {describe_frame(trace.names[at]): float(total[at]) / lines.steps for at in np.flatnonzero(total).tolist()}


def _count_causes(lines: Lines) -> Iterator[Cause]:
    yield from _count_copies(lines)
    yield from count_undone_casts(lines)
    yield from count_needless(lines)
    yield from count_loops(lines)
    yield from count_alike_modules(lines)
    yield from _count_waits(lines)
    yield from _count_emptying(lines)
    yield from _count_collections(lines)
    yield from _count_fallbacks(lines)
    yield from _count_collectives(lines)
    yield from count_objects(lines)
    yield from tell_watching(lines)
    yield from tell_modes(lines)
    yield from find_other_threads(lines)
    yield from count_vain_gradients(lines)
    yield from count_derived_passes(lines)
    yield from count_forwards(lines)
    yield from account_for_functions(lines)
    yield from _count_computing(lines)
    yield from find_dearest_line(lines)
    yield from tell_update(lines)


def _count_copies(lines: Lines) -> Iterator[Cause]:
    """Copies between host and device at lines of the script: not the loader's, and not a value that is read."""
    trace, frames = lines.trace, lines.frames
    device = np.flatnonzero(trace.where(("copy",)) & lines.steady & (trace.launched_by >= 0))
    rows = np.unique(trace.launched_by[device]).astype(np.intp)
    rows = rows[~trace.mask_of_names(READ.__eq__)[rows]]
    rows = rows[~trace.intervals_of(trace.where(("loading",))).cover_moments(trace.start_ns[rows])]
    if frames is None or not rows.size:
        return
    rows = np.unique(_find_outermost(lines, rows))
    names = lines.lines_at(trace.start_ns[rows])
    best, where, calls = 0.0, "", 0.0
    for name in np.unique(names[names >= 0]).tolist():
        chosen = rows[names == name]
        spent = Intervals.union_of(trace.start_ns[chosen], trace.start_ns[chosen] + trace.duration_ns[chosen])
        if spent.length_ns > best:
            best, where = float(spent.length_ns), describe_frame(trace.names[name])
            calls = chosen.size / lines.steps
    many = calls >= MANY_COPIES and lines.operators <= OPERATORS_A_WAIT * calls
    if many or best / lines.steps >= WORTH["blocked_copy"] * lines.profile.breakdown.step_ns:
        yield make_cause(lines, "blocked_copy", "copies", best / lines.steps, where, calls=round(calls))


def _find_outermost(lines: Lines, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return for each copying operator the outermost one around it that copies too."""
    trace = lines.trace
    is_copy = trace.mask_of_names(COPIES.__contains__) & trace.where(("host_op",))
    hosts = np.flatnonzero(is_copy)
    outermost: npt.NDArray[np.intp] = rows.copy()
    for lane in np.unique(trace.lane[rows]).tolist():
        inside = hosts[trace.lane[hosts] == lane]
        nesting = Nesting(trace.start_ns[inside], trace.duration_ns[inside], inside)
        place = {int(row): at for at, row in enumerate(nesting.rows)}
        for at in np.flatnonzero(trace.lane[rows] == lane).tolist():
            inner = place.get(int(rows[at]), -1)
            while inner >= 0 and nesting.parent[inner] >= 0:
                inner = int(nesting.parent[inner])
            outermost[at] = nesting.rows[inner] if inner >= 0 else rows[at]
    return outermost


def _count_fallbacks(lines: Lines) -> Iterator[Cause]:
    trace = lines.trace
    marks = _rows_of(lines, (FALLBACK,))
    if not marks.size:
        return
    hosts = np.flatnonzero(trace.where(("host_op",)) & lines.steady)
    callers = []
    for lane in np.unique(trace.lane[marks]).tolist():
        inside = hosts[trace.lane[hosts] == lane]
        nesting = Nesting(trace.start_ns[inside], trace.duration_ns[inside], inside)
        above = nesting.parent[np.isin(nesting.rows, marks)]
        callers.append(nesting.rows[above[above >= 0]])
    rows = np.unique(np.concatenate(callers)).astype(np.intp)
    spent = float(trace.duration_ns[rows].sum()) / lines.steps
    if rows.size and spent >= WORTH["fallback"] * lines.profile.breakdown.step_ns:
        yield make_cause(lines, "fallback", "fallback", spent, lines.dearest_line(rows))


def _count_collectives(lines: Lines) -> Iterator[Cause]:
    """Many collectives a step: each costs its start, however little it sends."""
    profile, trace = lines.profile, lines.trace
    rows = np.flatnonzero(trace.where(("communication",)) & lines.steady)
    share, calls = profile.breakdown.share_of("communication"), rows.size / lines.steps
    if calls >= MANY_COLLECTIVES and share >= WORTH["communication"]:
        spent = share * profile.breakdown.step_ns
        by = trace.launched_by[rows]
        where = lines.dearest_line(by[by >= 0].astype(np.intp))
        yield make_cause(lines, "communication", "collectives", spent, where, calls=round(calls))


def _count_waits(lines: Lines) -> Iterator[Cause]:
    """On a simulated NPU nothing waits for a device: calls that would are counted, and what they take. Where tensors
    come to the host it is their copy that waits."""
    trace = lines.trace
    on_host = trace.where(("loading",)) | trace.mask_of_names(lambda name: name.startswith("Optimizer.step#"))
    hosts = trace.intervals_of(on_host)
    noted = np.flatnonzero(lines.steady & trace.where(("python",)) & trace.mask_of_names(_is_wait))
    reads = _rows_of(lines, READS)
    # a value that lies on the host is read without a copy, and waits for nothing
    of_device = np.isin(reads, trace.launched_by[trace.where(("copy",))])
    sized = _rows_of(lines, SIZED_BY_VALUES)
    reads = np.union1d(reads[of_device], sized[lines.hands_out[sized]])
    always = noted[trace.mask_of_names(_always_waits)[noted]]
    noted = np.union1d(always, noted[np.isin(trace.start_ns[noted], find_launching(trace, noted))])
    reads = reads[~trace.intervals_of(_mask_of(trace, noted)).cover_moments(trace.start_ns[reads])]
    rows = np.concatenate([noted, reads]).astype(np.intp)
    rows = rows[~hosts.cover_moments(trace.start_ns[rows])]
    spans = Intervals.union_of(trace.start_ns[rows], trace.start_ns[rows] + trace.duration_ns[rows])
    calls = count_outermost(trace, rows) / lines.steps
    share = spans.length_ns / lines.steps / lines.profile.breakdown.step_ns
    asked = int(trace.mask_of_names(lambda name: name.endswith(".synchronize"))[rows].sum()) / lines.steps
    dear = (
        share >= WAITS_WORTH
        or round(asked) >= MANY_WAITS
        or lines.operators <= OPERATORS_A_WAIT * calls
        or calls >= VERY_MANY_WAITS
    )
    if round(calls) < MANY_WAITS or not dear:
        return
    copying = np.isin(rows, noted) & trace.mask_of_names(COPYING_WAITS.__contains__)[rows]
    kind, key = ("blocked_copy", "fetches") if 2 * int(copying.sum()) > rows.size else ("synchronisation", "reads")
    where, part = lines.dearest_place(rows)
    cause = make_cause(lines, kind, key, spans.length_ns / lines.steps, where, part, calls=round(calls))
    yield replace(cause, confidence="likely")


def _always_waits(name: str) -> bool:
    return WAITS_ALWAYS.match(name) is not None


def _is_wait(name: str) -> bool:
    return WAITS.match(name) is not None


def _mask_of(trace: Trace, rows: npt.NDArray[np.intp]) -> Mask:
    mask = np.zeros(len(trace), np.bool_)
    mask[rows] = True
    return mask


def _count_emptying(lines: Lines) -> Iterator[Cause]:
    trace = lines.trace
    given_back = trace.mask_of_names(lambda name: EMPTYING.match(name) is not None)
    rows = np.flatnonzero(lines.steady & trace.where(("python",)) & given_back)
    if rows.size >= lines.steps:
        spent = float(trace.duration_ns[rows].sum()) / lines.steps
        where, part = lines.dearest_place(rows)
        cause = make_cause(lines, "allocation", "emptied", spent, where, part, calls=round(rows.size / lines.steps))
        yield replace(cause, confidence="likely")


def _count_collections(lines: Lines) -> Iterator[Cause]:
    """Collections of Python's garbage that one line asks for again and again: each looks at every object that there is,
    and takes as long as there are many."""
    trace = lines.trace
    rows = np.flatnonzero(trace.where(("python",)) & trace.mask_of_names(COLLECTION.__eq__) & (trace.step >= 0))
    rows = rows[trace.duration_ns[rows] >= LONG_COLLECTION_NS]
    names = lines.lines_at(trace.start_ns[rows] + trace.duration_ns[rows] // 2)
    at = np.bincount(names[names >= 0], minlength=1)
    where, calls, steps = describe_frame(trace.names[int(at.argmax())]), int(at.max()), len(trace.steps)
    if calls >= FEW_COLLECTIONS and calls * STEPS_A_COLLECTION >= steps:
        spent = float(trace.duration_ns[rows].sum()) / steps
        yield replace(make_cause(lines, "garbage", "garbage", spent, where, calls / rows.size), confidence="likely")


def _count_computing(lines: Lines) -> Iterator[Cause]:
    """The line at which kernels work on more than all others do: in a training that is its backward, which is nothing
    to change, else what is computed beside it."""
    frames, trace = lines.frames, lines.trace
    work = count_work(lines.profile)
    if frames is None or not work:
        return
    where = max(work, key=work.__getitem__)
    part = work[where] / max(1.0, sum(work.values()))
    in_backward = trace.intervals_of(trace.where(("python",)) & trace.mask_of_names(lambda name: BACKWARD in name))
    here = np.array([describe_frame(name) == where for name in trace.names])[trace.name[frames.rows]]
    chosen = np.flatnonzero(here & lines.steady[frames.rows])
    begin, end = frames.start_ns[chosen], frames.end_ns[chosen]
    spent = float((end - begin).sum())
    if part < MOST_WORK or 2 * float((in_backward.before_ns(end) - in_backward.before_ns(begin)).sum()) > spent:
        return
    yield make_cause(lines, "computing", "computes", spent / lines.steps, where, part)


def _rows_of(lines: Lines, names: tuple[str, ...]) -> npt.NDArray[np.intp]:
    trace = lines.trace
    return np.flatnonzero(trace.mask_of_names(names.__contains__) & trace.where(("host_op",)) & lines.steady)
