"""What a step takes besides what every training must have, by functions of the script: all that goes on outside of its
modules' forward, of backward and of updates is somebody's, however little each line of it takes.

It is weighed by the step that is not recorded: recording makes operators slower, and Python next to nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.attribution import Nesting
from ascend_workbook.profiling.causes.cause import Cause, Range
from ascend_workbook.profiling.causes.lines import BACKWARD, OWN_MODULE, SEEN_NS, Lines, Mask, make_cause
from ascend_workbook.profiling.causes.loops import MODULE
from ascend_workbook.profiling.causes.marks import COMPILED, describe_frame, function_of
from ascend_workbook.profiling.causes.passes import PASSES
from ascend_workbook.profiling.intervals import I64, Intervals
from ascend_workbook.profiling.readers.lines import MODES, OTHERS, WATCHED, sampled_stacks

#: Of a step that is not recorded: a function takes this much besides
WORTH = 0.09
#: The same within a loader that takes less than an NPU's host needs besides: one worker process hides it
WORTH_LOADER = 0.45
#: The same of a line of the loop's, that takes so long at least, and so much of its time by itself: what launches
#: kernels needs Python between them too
WORTH_LOOP, LEAST_NS, OWN_PART = 0.12, 1_000_000, 0.4
#: So many times at least what comes every few steps is seen to
REGULAR = 3
#: A function that is called holds what its caller is told for, where it takes this part of it
MOST = 0.5
#: A function sends objects where this part of its time goes by in such calls
SENDS = 0.4
#: Of the step, that objects take which are sent, from here on a word
WORTH_OBJECTS = 0.12
#: Another thread of the script's runs in this part of the looks: it and the training take turns with the interpreter
TAKES_TURNS = 0.3
#: Of the step, what one line computes itself, with its gradients, from here on a word
WORTH_LINE, MOST_LINES = 0.25, 8
#: An optimizer's update, and from which part of the step on it is told
UPDATE, WORTH_UPDATE = "Optimizer.step#", 0.5
#: A mode's own function, that each operator goes through
DISPATCH = ": __torch_dispatch__"
OBJECTS = ("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list")


def account_for_functions(lines: Lines) -> Iterator[Cause]:
    """Name the functions of the script that take a part of the step besides what a training must have."""
    if lines.frames is None or not lines.frames.rows.size:
        return
    besides = find_besides(lines)
    loading = lines.trace.intervals_of(lines.trace.where(("loading",)) & lines.steady)
    for spans, in_loader in ((besides, False), (loading, True)):
        spent = np.where(lines.steady[lines.frames.rows], _spend(lines, spans), 0)
        worth = WORTH_LOADER if in_loader and lines.loader_ns < lines.handed_ns else WORTH
        for outer, inner in _choose_functions(lines, spent, worth):
            yield _name_function(lines, outer, inner, spent, in_loader)
    yield from _name_loop_line(lines, np.where(lines.steady[lines.frames.rows], _spend(lines, besides), 0))


def find_besides(lines: Lines) -> Intervals:
    """Return when the script's thread does nothing that every training does: no operator that hands out, no forward of
    a module, no backward, update or loader, and nothing that has a cause of its own."""
    trace = lines.trace
    must = trace.mask_of_names(lambda name: BACKWARD in name or name in PASSES or name.startswith(MODULE))
    return lines.alone - trace.intervals_of(must & lines.steady)


def _spend(lines: Lines, spans: Intervals) -> I64:
    assert lines.frames is not None
    spent: I64 = spans.before_ns(lines.frames.end_ns) - spans.before_ns(lines.frames.start_ns)
    return spent


def _choose_functions(lines: Lines, spent: I64, worth: float) -> Iterator[tuple[Mask, Mask]]:
    """Yield the frames of each function that the loop's lines call and that takes enough, and of the one called there
    that takes most of it, else the same."""
    frames = lines.frames
    assert frames is not None
    numbers: dict[str, int] = {}
    function = np.array([numbers.setdefault(function_of(name), len(numbers)) for name in lines.trace.names])
    function = function[lines.trace.name[frames.rows]]
    has_caller = frames.parent >= 0
    called = ~lines.holds_loop & has_caller & lines.holds_loop[np.maximum(frames.parent, 0)]
    enough = max(worth * lines.calm_step_ns, SEEN_NS) * lines.steps
    for number in np.unique(function[called & (spent > 0)]).tolist():
        chosen = outer = called & (function == number)
        if spent[chosen].sum() < enough or not _recurs(lines, chosen, spent):
            continue
        while True:
            inner = np.isin(frames.parent, np.flatnonzero(chosen)) & (function != number)
            if not inner.any():
                break
            number = int(np.bincount(function[inner], spent[inner]).argmax())
            inner &= function == number
            if spent[inner].sum() < MOST * spent[chosen].sum():
                break
            chosen = inner
        yield outer, chosen


def _name_loop_line(lines: Lines, spent: I64) -> Iterator[Cause]:
    """Name the line of the loop that is the longest busy by itself, without what it calls of the script's own."""
    frames, trace = lines.frames, lines.trace
    assert frames is not None
    holds = lines.holds_loop
    calls_loop = np.zeros(holds.size, np.bool_)
    calls_loop[frames.parent[holds & (frames.parent >= 0)]] = True
    # the outermost frame, where it is no whole script, is all that is known of what goes on there
    is_known = (frames.parent >= 0) | trace.mask_of_names(lambda name: name.endswith(": <module>"))[frames.rows]
    own = spent.copy()
    called = np.flatnonzero(~holds & (frames.parent >= 0))
    np.subtract.at(own, frames.parent[called], spent[called])
    at_line = holds & ~calls_loop & is_known & lines.steady[frames.rows] & (own > 0)
    if not at_line.any():
        return
    names = trace.name[frames.rows]
    chosen = at_line & (names == int(np.bincount(names[at_line], own[at_line]).argmax()))
    enough = max(WORTH_LOOP * lines.calm_step_ns, LEAST_NS) * lines.steps
    lasts = float((frames.end_ns - frames.start_ns)[chosen].sum())
    if own[chosen].sum() >= max(enough, OWN_PART * lasts) and _recurs(lines, chosen, own):
        cause = _name_function(lines, chosen, chosen, own, False)
        yield replace(cause, predicted=lines.weigh_host(cause.spent_ns))


def _recurs(lines: Lines, chosen: Mask, spent: I64) -> bool:
    """Return whether more than half of the steady steps have their part of it, or every so many of them."""
    assert lines.frames is not None
    step = lines.trace.step[lines.frames.rows[chosen]]
    by_step = np.bincount(step[step >= 0], spent[chosen][step >= 0], len(lines.trace.steps))
    has_part = by_step >= WORTH / 2 * lines.calm_step_ns
    steady = np.unique(lines.trace.step[lines.steady & (lines.trace.step >= 0)])
    at = np.flatnonzero(has_part[steady])
    return bool(2 * at.size > lines.steps or _is_regular(at, steady.size))


def _is_regular(at: npt.NDArray[np.intp], count: int) -> bool:
    """Return whether these of so many steps come every so many, as often as they can: three times at least."""
    if at.size < REGULAR:
        return False
    every = int(at[1] - at[0])
    return bool((np.diff(at) == every).all() and at[0] < every and at[-1] + every >= count)


def _name_function(lines: Lines, outer: Mask, inner: Mask, spent: I64, in_loader: bool) -> Cause:
    """Return the cause of all that a function takes, at the line of it, or of the one called there, that is the
    dearest."""
    frames, trace = lines.frames, lines.trace
    assert frames is not None
    took = float(spent[outer].sum()) / lines.steps
    by_line = np.bincount(trace.name[frames.rows[inner]], weights=spent[inner])
    where, part = describe_frame(trace.names[int(by_line.argmax())]), float(by_line.max() / lines.steps / took)
    kind, key = _classify(lines, outer, spent, where, in_loader)
    cause = make_cause(lines, kind, key, took, where, part)
    share = min(1.0, took / lines.calm_step_ns)
    evidence = Sentence(cause.evidence.key, **{**cause.evidence.args, "share": round(100 * share, 1)})
    predicted = _weigh_function(lines, outer & lines.steady[frames.rows], took, in_loader)
    return replace(cause, share=share, evidence=evidence, confidence="likely", predicted=predicted)


def _weigh_function(lines: Lines, chosen: Mask, took: float, in_loader: bool) -> Range:
    """Return what the step would be shorter by without a function: what it takes besides, as part of a step that is not
    recorded, to all that it takes with what it calls; in a loader to all that the loader takes."""
    frames = lines.frames
    assert frames is not None
    spans = Intervals.union_of(frames.start_ns[chosen], frames.end_ns[chosen])
    most = lines.loader_ns if in_loader else lines.weigh(lines.with_gradients(spans)).most_ns
    return lines.weigh_host(took, most)


def _classify(lines: Lines, chosen: Mask, spent: I64, where: str, in_loader: bool) -> tuple[str, str]:
    """Return the kind of a function's time, by what goes on below it, and the key of what is said of it."""
    frames, trace = lines.frames, lines.trace
    assert frames is not None
    if in_loader:
        return "loading", "samples"
    begin, end, total = frames.start_ns[chosen], frames.end_ns[chosen], max(1.0, float(spent[chosen].sum()))
    objects = trace.intervals_of(_send_objects(lines))
    if float((objects.before_ns(end) - objects.before_ns(begin)).sum()) >= SENDS * total:
        return "communication", "objects"
    on_host = trace.intervals_of(trace.where(("host_op",)) & ~lines.hands_out & lines.steady)
    if 2 * float((on_host.before_ns(end) - on_host.before_ns(begin)).sum()) >= total and not lines.fetches(where):
        return "preprocessing", "on_host"
    return "python", "function"


def _send_objects(lines: Lines) -> Mask:
    """Return a mask (n,) of the calls that send objects between ranks."""
    return lines.trace.mask_of_names(lambda name: name.rpartition(".")[2] in OBJECTS) & lines.steady


def count_objects(lines: Lines) -> Iterator[Cause]:
    """Count the objects that are sent between ranks: each is pickled, and its size is sent before it."""
    rows = np.flatnonzero(_send_objects(lines))
    spans = Intervals.union_of(lines.trace.start_ns[rows], lines.trace.start_ns[rows] + lines.trace.duration_ns[rows])
    spent = float(spans.length_ns) / lines.steps
    if spent >= WORTH_OBJECTS * lines.profile.breakdown.step_ns:
        where, part = lines.dearest_place(rows)
        cause = make_cause(lines, "communication", "objects", spent, where, part)
        yield replace(cause, confidence="likely", predicted=lines.weigh(spans))


def is_of_objects(lines: Lines) -> bool:
    """Return whether most of what looks like saving is the pickling of objects that are sent."""
    trace = lines.trace
    saves = trace.mask_of_names(lambda name: COMPILED["checkpoint"].search(name) is not None) & trace.where(("python",))
    saving = trace.intervals_of(saves & lines.steady)
    return bool(2 * saving.common_ns(trace.intervals_of(_send_objects(lines))) >= max(1, saving.length_ns))


def tell_watching(lines: Lines) -> Iterator[Cause]:
    """Tell of what watches each of Python's allocations or calls: it slows all of them, here and there."""
    watched = lines.trace.about.get(WATCHED)
    for tool, frame in watched if isinstance(watched, list) else ():
        spent = float(lines.alone.length_ns) / max(1, len(lines.trace.steps))
        where = describe_frame(frame)
        if spent >= WORTH * lines.calm_step_ns:  # how much of it is due to this, nothing tells
            cause = make_cause(lines, "profiler", "watched", spent, where, tool=tool)
            yield replace(cause, confidence="unsure", predicted=Range(0.0, min(spent, lines.calm_step_ns)))


def tell_modes(lines: Lines) -> Iterator[Cause]:
    """Tell of a mode in which each operator goes through Python, by the time below its function that no operator
    takes."""
    trace = lines.trace
    entered = trace.about.get(MODES)
    for tool, frame, *files in entered if isinstance(entered, list) else ():
        # tensors of classes of their own have such functions too, in other files; older recordings tell no file
        names = tuple(f"{file}(" for file in files if file)
        is_of_mode = np.array([name.startswith(names) and name.endswith(DISPATCH) for name in trace.names])
        below = is_of_mode[trace.name] & trace.where(("python",)) & lines.steady
        spans = trace.intervals_of(below) - trace.intervals_of(lines.hands_out & lines.steady)
        spent = float(spans.length_ns) / lines.steps
        if spent >= WORTH * lines.calm_step_ns:
            cause = make_cause(lines, "python", "watched", spent, describe_frame(frame), tool=tool)
            most_ns = max(spent, lines.leave_out(trace.intervals_of(below)))
            yield replace(cause, confidence="likely", predicted=Range(spent, most_ns))
            return  # it enters itself again around each operator


def find_other_threads(lines: Lines) -> Iterator[Cause]:
    """Find the thread of the script's that runs beside the training: of two that want the interpreter each has it half
    of the time. Nothing tells whether it is in Python, or in C that gives the interpreter away."""
    others, looks = lines.trace.about.get(OTHERS), sampled_stacks(lines.trace)
    seen = others if isinstance(others, list) else []
    part = sum(count for _, count in seen) / max(1, looks)
    if part < TAKES_TURNS:
        return
    frame, count = max(seen, key=lambda row: row[1])
    spent = min(1.0, part) / 2 * lines.calm_step_ns
    cause = make_cause(
        lines, "contention", "thread", spent, describe_frame(frame), count / max(1, sum(n for _, n in seen))
    )
    yield replace(cause, confidence="likely", predicted=Range(0.0, min(1.0, part) * lines.calm_step_ns))


def find_dearest_line(lines: Lines) -> Iterator[Cause]:
    """Find the function that computes most of the step itself or by those that it calls, with its gradients, and not
    through one of torch's layers: nothing tells whether it is needed, but where a step is long for its computing it is
    there."""
    trace = lines.trace
    rows = _find_own_operators(lines)
    names = _find_lines_within(lines, rows)
    rows, names = rows[names >= 0], names[names >= 0]
    if not rows.size:
        return
    least_ns = WORTH_LINE * lines.profile.breakdown.step_ns * lines.steps
    best, most = np.zeros(rows.size, np.bool_), 0
    for chosen in _group_by_function(lines, rows, names):
        lasts = _with_gradients(lines, rows[chosen]).length_ns
        # of one that calls another the inner one is told, where it takes most of it
        is_inner = chosen.sum() < best.sum() and 2 * (chosen & best).sum() > chosen.sum()
        if lasts >= least_ns and (lasts * MOST > most or (most * MOST <= lasts and is_inner)):
            best, most = chosen, lasts
    if not most:
        return
    by_line = np.bincount(names[best], trace.duration_ns[rows[best]])
    where, part = describe_frame(trace.names[int(by_line.argmax())]), float(by_line.max() / by_line.sum())
    cause = make_cause(lines, "computing", "line", most / lines.steps, where, part)
    most_ns = lines.weigh(_with_gradients(lines, rows[best])).most_ns  # how much of it is needed, nothing tells
    yield replace(cause, confidence="likely", predicted=Range(0.0, most_ns))


def _with_gradients(lines: Lines, rows: npt.NDArray[np.intp]) -> Intervals:
    begin = lines.trace.start_ns[rows]
    spans = Intervals.union_of(begin, begin + lines.trace.duration_ns[rows])
    return lines.with_gradients(spans) if lines.profile.gradients.size else spans


def _group_by_function(
    lines: Lines, rows: npt.NDArray[np.intp], names: npt.NDArray[np.int64]
) -> Iterator[npt.NDArray[np.bool_]]:
    """Yield which of the operators each function calls, itself or by others, the dearest first: those that take most of
    the operators' time."""
    frames, trace = lines.frames, lines.trace
    assert frames is not None
    numbers: dict[str, int] = {}
    function = np.array([numbers.setdefault(function_of(name), len(numbers)) for name in trace.names])
    place = np.full(len(trace), -1, np.int64)
    place[frames.rows] = np.arange(frames.rows.size)
    inner = frames.innermost_at(trace.start_ns[rows])
    at = np.where(inner >= 0, place[np.maximum(inner, 0)], -1)
    within = {int(number): function[names] == number for number in np.unique(function[names])}
    while (at >= 0).any():
        here = np.where(at >= 0, function[trace.name[frames.rows[np.maximum(at, 0)]]], -1)
        here[(at >= 0) & lines.holds_loop[np.maximum(at, 0)]] = -1
        for number in np.unique(here[here >= 0]).tolist():
            within[number] = within.get(number, np.zeros(rows.size, np.bool_)) | (here == number)
        at = np.where(at >= 0, frames.parent[np.maximum(at, 0)], -1)
    took = {number: float(trace.duration_ns[rows[chosen]].sum()) for number, chosen in within.items()}
    for number in sorted(took, key=lambda number: -took[number])[:MOST_LINES]:
        yield within[number]


def tell_update(lines: Lines) -> Iterator[Cause]:
    """Tell of updates that take most of the step: they read and write every parameter that has a gradient."""
    trace = lines.trace
    rows = np.flatnonzero(trace.mask_of_names(lambda name: name.startswith(UPDATE)) & lines.steady)
    spans = Intervals.union_of(trace.start_ns[rows], trace.start_ns[rows] + trace.duration_ns[rows])
    spent = float(spans.length_ns) / lines.steps
    if spent >= WORTH_UPDATE * lines.profile.breakdown.step_ns:
        where, part = lines.dearest_place(rows)
        cause = make_cause(lines, "computing", "update", spent, where, part)
        yield replace(cause, confidence="likely", predicted=Range(0.0, lines.weigh(spans).most_ns))


def _find_lines_within(lines: Lines, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Return the names of the lines that call these operators, or -1; of those that a module of the script's own calls
    before one of its lines is seen, the line at which it is seen most often."""
    trace = lines.trace
    names = lines.lines_at(trace.start_ns[rows])
    calls = np.flatnonzero(trace.mask_of_names(lambda name: OWN_MODULE.match(name) is not None) & lines.steady)
    if not calls.size:
        return names
    around = Nesting(trace.start_ns[calls], trace.duration_ns[calls], calls).innermost_at(trace.start_ns[rows])
    module = np.where(around >= 0, trace.name[np.maximum(around, 0)], -1)
    unseen = lines.is_in_callee(trace.start_ns[rows])
    for number in np.unique(module[unseen & (module >= 0)]).tolist():
        seen = names[(module == number) & ~unseen & (names >= 0)]
        names[unseen & (module == number)] = int(np.bincount(seen).argmax()) if seen.size else -1
    return names


def _find_own_operators(lines: Lines) -> npt.NDArray[np.intp]:
    """Return the operators that lines of the script call in forward, and not one of torch's layers for them."""
    trace, rows = lines.trace, lines.script_rows
    elsewhere = trace.mask_of_names(
        lambda name: BACKWARD in name or name in PASSES or name.startswith("Optimizer.")
    ) | trace.where(("loading",))
    rows = rows[~trace.intervals_of(elsewhere & lines.steady).cover_moments(trace.start_ns[rows])]
    calls = np.flatnonzero(trace.mask_of_names(lambda name: name.startswith(MODULE)) & lines.steady)
    if not calls.size:  # older recordings note none: layers cannot be told apart
        return calls
    around = Nesting(trace.start_ns[calls], trace.duration_ns[calls], calls).innermost_at(trace.start_ns[rows])
    own = trace.mask_of_names(lambda name: OWN_MODULE.match(name) is not None)
    chosen: npt.NDArray[np.intp] = rows[(around < 0) | own[np.maximum(around, 0)]]
    return chosen
