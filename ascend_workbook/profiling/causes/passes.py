"""Backward passes that work out what nobody needs: the same gradients a second time, or such as no update uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.causes.cause import Cause
from ascend_workbook.profiling.causes.lines import BACKWARD, Lines, Mask, make_cause
from ascend_workbook.profiling.causes.marks import describe_frame
from ascend_workbook.profiling.intervals import I64, Intervals
from ascend_workbook.profiling.readers.lines import NEVER_USED

#: Calls that go through the graph, as the sampler of lines notes them
PASSES = ("autograd.backward", RETURNS := "autograd.grad")
#: Of the step that such gradients take, from here on a word; of those that are returned, for something they are for
WORTH, WORTH_RETURNED = 0.08, 0.2
#: The same of passes that are derived themselves: they are for something
WORTH_DERIVED = 0.15
#: What stores a parameter's gradient
STORES = "torch::autograd::AccumulateGrad"
#: Beside the call that empties gradients: the shapes of those that no update had used
UNUSED = "unused gradients: "
Rows = npt.NDArray[np.intp]


def count_vain_gradients(lines: Lines) -> Iterator[Cause]:
    """Count the gradients that a step works out in vain, and name the pass that does most of it."""
    if lines.frames is None or not lines.frames.rows.size:
        return
    passes = _find_passes(lines)
    if not passes.size:
        return
    again, unused = _find_repeated(lines, passes), _find_unused(lines, passes)
    for key, nodes in (("again", again), ("unused", np.setdiff1d(unused, again))):
        removed = lines.spans_of_nodes(nodes)
        spent = float(removed.length_ns) / lines.steps
        place, part, returns = _find_dearest_pass(lines, passes, removed)
        if spent < (WORTH_RETURNED if returns else WORTH) * lines.profile.breakdown.step_ns:
            continue
        cause = make_cause(lines, "computing", key, spent, place, part, calls=round(nodes.size / lines.steps))
        yield replace(cause, confidence="likely", predicted=lines.weigh(removed))


def count_derived_passes(lines: Lines) -> Iterator[Cause]:
    """Count the passes that are derived themselves, as for a penalty on gradients, and what derives them."""
    if lines.frames is None or not lines.frames.rows.size:
        return
    trace, passes, numbers = lines.trace, _find_passes(lines), lines.profile.numbers
    derived = passes[_find_derived(lines, passes)]
    nodes = numbers.rows[_derives_passes(lines, passes) & lines.steady[numbers.rows]]
    spans = Intervals.union_of(trace.start_ns[derived], trace.start_ns[derived] + trace.duration_ns[derived])
    where, part, _ = _find_dearest_pass(lines, derived, spans)
    # what is computed for it, and its usual gradients, go with it
    removed = spans | lines.spans_of_nodes(nodes) | lines.with_gradients(lines.spans_at(where))
    spent = float(removed.length_ns) / lines.steps
    if not derived.size or spent < WORTH_DERIVED * lines.profile.breakdown.step_ns:
        return
    cause = make_cause(
        lines, "computing", "derived", spent, where, part, calls=max(1, round(derived.size / lines.steps))
    )
    yield replace(cause, confidence="likely", predicted=lines.weigh(removed))


def _find_derived(lines: Lines, passes: Rows) -> Rows:
    """Return the places of the passes whose own operators another pass derives. What an activation checkpoint computes
    again has gradients too: in the pass that computes it, or none."""
    trace, numbers = lines.trace, lines.profile.numbers
    if not passes.size:
        return np.empty(0, np.intp)
    at = _pass_of(lines, passes, trace.start_ns[numbers.rows])
    own = np.flatnonzero(~numbers.of_backward & (trace.lane[numbers.rows] != _lane_of(lines)) & (at >= 0))
    own = own[np.argsort(trace.start_ns[numbers.rows[own]], kind="stable")]  # the last of a number makes the node
    pass_of = dict(zip(numbers.number[own].tolist(), at[own].tolist()))
    derives = _derives_passes(lines, passes) & (at >= 0)
    pairs = zip(numbers.number[derives].tolist(), at[derives].tolist())
    return np.unique([pass_of[number] for number, by in pairs if pass_of.get(number, by) != by]).astype(np.intp)


def _derives_passes(lines: Lines, passes: Rows) -> Mask:
    """Return which numbered operators derive such as ran within passes, on another thread than the script's: that is
    the one whose operators the passes derive first."""
    trace, numbers = lines.trace, lines.profile.numbers
    nodes = np.flatnonzero(numbers.of_backward)
    nodes = nodes[np.argsort(trace.start_ns[numbers.rows[nodes]], kind="stable")]
    at = _pass_of(lines, passes, trace.start_ns[numbers.rows[nodes]]) if passes.size else np.full(nodes.size, -1)
    places, first = np.unique(at, return_index=True)
    threads = np.bincount(numbers.thread[nodes[first[places >= 0]]], minlength=1)
    derives: Mask = numbers.of_backward & (numbers.thread != int(threads.argmax()))
    return derives


def _find_passes(lines: Lines) -> Rows:
    """Return the calls of the script's thread that go through the graph, in order; those within others left out."""
    trace = lines.trace
    rows = np.flatnonzero(trace.mask_of_names(PASSES.__contains__) & lines.steady)
    if not rows.size:
        rows = np.flatnonzero(trace.mask_of_names(lambda name: BACKWARD in name) & lines.steady)
    rows = rows[np.lexsort((-trace.duration_ns[rows], trace.start_ns[rows]))]
    ends = np.maximum.accumulate(trace.start_ns[rows] + trace.duration_ns[rows]) if rows.size else rows
    outer = np.append(True, trace.start_ns[rows][1:] >= ends[:-1]) if rows.size else np.empty(0, np.bool_)
    chosen: Rows = rows[outer].astype(np.intp)
    return chosen


def _pass_of(lines: Lines, passes: Rows, moments_ns: I64) -> npt.NDArray[np.intp]:
    """Return for each moment the place of the pass going on, or -1."""
    trace = lines.trace
    at = np.searchsorted(trace.start_ns[passes], moments_ns, "right") - 1
    ends = (trace.start_ns + trace.duration_ns)[passes][np.maximum(at, 0)]
    return np.where((at >= 0) & (moments_ns < ends), at, -1)


def _find_repeated(lines: Lines, passes: Rows) -> Rows:
    """Return the operators of backward that a later pass of the step runs again for the same operator of forward. A
    pass whose own operators have gradients is one to be derived: it is needed. Of those that return gradients, and add
    them to none, one is."""
    trace, numbers = lines.trace, lines.profile.numbers
    number_of = _pass_of(lines, passes, trace.start_ns[numbers.rows])
    derived = _find_derived(lines, passes)
    chosen = numbers.of_backward & lines.steady[numbers.rows] & (number_of >= 0) & ~np.isin(number_of, derived)
    rows, number = numbers.rows[chosen], numbers.number[chosen]
    number = number + numbers.thread[chosen] * (1 + numbers.number.max(initial=0))  # each thread counts its own
    returns = trace.mask_of_names(RETURNS.__eq__)[passes[number_of[chosen]]]
    order = np.lexsort((trace.start_ns[rows], number))
    rows, number, returns = rows[order], number[order], returns[order]
    is_again: Mask = np.append(number[1:] == number[:-1], False)[: number.size]
    first = np.unique(np.where(returns, number, -1), return_index=True)[1]
    is_again[first[returns[first]]] = False
    return rows[is_again].astype(np.intp)


def _lane_of(lines: Lines) -> int:
    assert lines.frames is not None
    return int(lines.trace.lane[lines.frames.rows[0]])


def _find_unused(lines: Lines, passes: Rows) -> Rows:
    """Return the operators of backward that come, in their pass, after the last gradient that an update uses: what was
    computed first is derived last."""
    trace = lines.trace
    stores = np.flatnonzero(trace.mask_of_names(STORES.__eq__) & lines.steady)
    shape = [trace.shapes[at].partition(" ")[0] for at in trace.shape[stores].tolist()]
    number_of = _pass_of(lines, passes, trace.start_ns[stores])
    nodes = lines.profile.numbers.rows[lines.profile.numbers.of_backward]
    node_pass = _pass_of(lines, passes, trace.start_ns[nodes])
    never = Counter(str(trace.about.get(NEVER_USED) or "").split())
    vain = []
    for at in range(passes.size):
        own = np.flatnonzero(number_of == at)
        own = own[np.argsort(trace.start_ns[stores[own]], kind="stable")]
        thrown = _read_thrown(lines, passes, at, Counter(shape[place] for place in np.flatnonzero(number_of == at + 1)))
        stored = Counter(shape[place] for place in own)
        # of one shape some are used: nothing tells which
        thrown = Counter({each: count for each, count in (thrown + never).items() if stored[each] <= count})
        last_ns = int(trace.start_ns[passes[at]])
        for place in own[::-1].tolist():
            if not thrown[shape[place]]:
                last_ns = int(trace.start_ns[stores[place]])
                break
            thrown[shape[place]] -= 1
        else:
            continue  # all of it: no update of torch's uses any
        behind = nodes[(node_pass == at) & (trace.start_ns[nodes] > last_ns)]
        vain.append(behind)
    return np.concatenate(vain).astype(np.intp) if vain else np.empty(0, np.intp)


def _read_thrown(lines: Lines, passes: Rows, at: int, stored_next: Counter[str]) -> Counter[str]:
    """Return the shapes of the gradients that are emptied unused between a pass and the next, and behind that until the
    one after it, but for such as that stores too."""
    starts = [*lines.trace.start_ns[passes].tolist(), int(lines.trace.start_ns.max()) + 1]
    ends = starts[at + 1], starts[min(at + 2, passes.size)]
    soon, later = _read_emptied(lines, starts[at], ends[0]), _read_emptied(lines, *ends)
    return soon + Counter({shape: count for shape, count in later.items() if not stored_next[shape]})


def _read_emptied(lines: Lines, begin_ns: int, end_ns: int) -> Counter[str]:
    trace = lines.trace
    emptied = trace.mask_of_names(lambda name: name.startswith(UNUSED))
    rows = np.flatnonzero(emptied & (trace.start_ns >= begin_ns) & (trace.start_ns < end_ns))
    texts = (trace.names[trace.name[row]][len(UNUSED) :] for row in rows.tolist())
    return sum((Counter(text.split()) for text in texts), Counter())


def _find_dearest_pass(lines: Lines, passes: Rows, removed: Intervals) -> tuple[str, float, bool]:
    """Return the line of the passes in which most of these intervals lie, their part, and whether these passes return
    gradients."""
    trace = lines.trace
    begin, end = trace.start_ns[passes], (trace.start_ns + trace.duration_ns)[passes]
    spent = removed.before_ns(end) - removed.before_ns(begin)
    names = lines.lines_at(begin)
    known = names >= 0
    if not known.any():
        return "", 0.0, False
    by_line = np.bincount(names[known], weights=spent[known])
    best = int(by_line.argmax())
    returns = trace.mask_of_names(RETURNS.__eq__)[passes[names == best]]
    return describe_frame(trace.names[best]), float(by_line[best] / max(1.0, float(spent.sum()))), bool(returns.all())
