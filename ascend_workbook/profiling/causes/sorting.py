"""Which cause each piece of a gap has, by what the host did in it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.causes.cause import KINDS
from ascend_workbook.profiling.causes.contention import Contended
from ascend_workbook.profiling.causes.marks import BIT, function_of
from ascend_workbook.profiling.causes.reading import (
    LATE_NS,
    Gaps,
    Reading,
    join_readings,
    take_reading,
    waits_elsewhere,
)
from ascend_workbook.profiling.causes.threads import NOBODY, Rows
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.trace import ON_DEVICE, Trace

I8 = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]
#: A call that hands out a kernel and takes longer than this has done something else besides
LONG_LAUNCH_NS = 1_000_000
#: Calls of the runtime that set something up are told from this length on
LONG_CALL_NS = 100_000
#: One call to reserve memory that takes longer has made the context, or loaded a library
CONTEXT_NS = 300_000_000
#: The first call of an operator that takes so many times what its others do has set up its library, or loaded kernels
FIRST_CALL, OTHER_CALLS = 10, 2
#: An operator that reserves memory and takes longer has made the context
RESERVING = re.compile(r"^aten::(empty|empty_strided|empty_like|new_empty)$")
RESERVING_NS = 100_000_000
#: A gap is at a recording's beginning where the device worked so much of its length before it, at most
EARLY = 0.01
#: A piece in which one function is busy without a call that hands out work
BUSY_NS = 500_000
#: Kinds a piece may have beside those of causes
GENERIC, LATENCY, UNSEEN = len(KINDS), len(KINDS) + 1, len(KINDS) + 2


@dataclass(frozen=True)
class Sorted:
    """Of each piece its kind (n,), a place in KINDS or one of the three above, and the row of its place, or -1."""

    kind: I8
    place: Rows


def sort_pieces(trace: Trace, gaps: Gaps, reading: Reading) -> Sorted:
    """Sort pieces by their marks, then what they are part of: the first gap of a recording, a wait that drained the
    device, a function that is busy for long."""
    row = np.where(reading.row >= 0, reading.row, 0)
    lasts = np.where(reading.row >= 0, trace.duration_ns[row] if len(trace) else 0, 0)
    is_call = (reading.row >= 0) & trace.where(("runtime",))[row]
    kind = np.full(row.size, GENERIC, np.int8)
    undecided = np.ones(row.size, np.bool_)

    def decide(mark: str, name: str, further: Mask | None = None) -> None:
        nonlocal undecided
        chosen = undecided & (reading.marks & BIT[mark] > 0)
        if further is not None:
            chosen = chosen & further
        kind[chosen] = KINDS.index(name)
        undecided = undecided & ~chosen

    for name in ("garbage", "loading", "checkpoint", "logging", "compiling", "preprocessing", "profiler"):
        decide(name, name)
    decide("start_up", "start_up", is_call & (lasts >= LONG_CALL_NS))
    decide("allocation", "start_up", is_call & (lasts >= CONTEXT_NS))
    decide("allocation", "allocation", is_call & (lasts >= LONG_CALL_NS))
    decide("lazy_loading", "lazy_loading", is_call & (lasts >= LONG_CALL_NS))
    builds = trace.mask_of_names(lambda name: "CompileAndExecute" in name)
    decide("launch", "compiling", is_call & (lasts >= LONG_LAUNCH_NS) & builds[row])
    decide("launch", "lazy_loading", is_call & (lasts >= LONG_LAUNCH_NS))
    decide("fallback", "fallback")
    decide("item", "synchronisation", is_call)
    decide("copy", "blocked_copy", is_call & (reading.marks & (BIT["wait"]) > 0))
    decide("copy", "blocked_copy", is_call & (lasts >= LONG_CALL_NS))
    decide("wait", "synchronisation")
    for name, chosen in _find_first_calls(trace, reading).items():
        kind[undecided & chosen] = KINDS.index(name)
        undecided = undecided & ~chosen
    kind[undecided & ((reading.row < 0) | waits_elsewhere(reading.marks))] = UNSEEN
    blocked = np.isin(kind, [KINDS.index("synchronisation"), KINDS.index("blocked_copy")]) & is_call
    seen = (reading.row >= 0) if trace.simulated else blocked  # there nothing runs beside the host
    kind[reading.launched & ~seen] = LATENCY
    place = np.where(reading.frame >= 0, reading.frame, np.where(reading.operator >= 0, reading.operator, reading.row))
    result = Sorted(kind, place)
    return _find_midflight(trace, gaps, reading, result)


def _find_first_calls(trace: Trace, reading: Reading) -> dict[str, Mask]:
    """Return which pieces are an operator's own time in its first call, by what that call did besides."""
    nothing = np.zeros(reading.row.size, np.bool_)
    own = (reading.row >= 0) & (reading.row == reading.operator) & (trace.on_device and not trace.simulated)
    result = {"start_up": nothing.copy(), "lazy_loading": nothing}
    operators = np.flatnonzero(trace.where(("host_op",)) & (trace.step >= 0))
    operators = operators[np.argsort(trace.name[operators], kind="stable")]
    names = trace.name[operators]
    for row in np.unique(reading.row[own & ~reading.launched]).tolist():
        lasts = int(trace.duration_ns[row])
        if lasts < BUSY_NS:
            continue
        alike = operators[slice(*np.searchsorted(names, [trace.name[row], trace.name[row] + 1]))]
        others = alike[alike != row]
        if trace.start_ns[others].min(initial=np.iinfo(np.int64).max) < trace.start_ns[row]:
            continue
        if RESERVING.search(trace.names[trace.name[row]]) and lasts >= RESERVING_NS:
            result["start_up"] = result["start_up"] | (own & (reading.row == row))
        elif others.size >= OTHER_CALLS and lasts >= FIRST_CALL * np.median(trace.duration_ns[others]):
            result["lazy_loading"] = result["lazy_loading"] | (own & (reading.row == row))
    return result


def give_contended(result: Sorted, reading: Reading, contended: Contended) -> Sorted:
    """Give what nothing else explains, of calls that are slow beside other threads, to these."""
    chosen = np.isin(reading.row, contended.rows) & (result.kind == GENERIC)
    return replace(result, kind=np.where(chosen, np.int8(KINDS.index("contention")), result.kind))


def join_functions(trace: Trace, reading: Reading, result: Sorted) -> Sorted:
    """Give what a function does between its calls of numpy and the like to preparing samples too, where most that it
    does is that: the profiler sees no call of C."""
    preparing = KINDS.index("preprocessing")
    numbers: dict[str, int] = {}
    function = np.array([numbers.setdefault(function_of(name), len(numbers)) for name in trace.names] or [0])
    own = np.where(reading.frame >= 0, function[trace.name[np.maximum(reading.frame, 0)]], -1)
    length = reading.length_ns
    spent = [
        np.bincount(own[chosen], length[chosen], minlength=len(numbers) + 1)
        for chosen in ((own >= 0) & (result.kind == kind) for kind in (preparing, GENERIC))
    ]
    mostly = (spent[0] > 0) & (2 * spent[0] >= spent[1])
    kind = result.kind.copy()
    kind[(own >= 0) & (kind == GENERIC) & mostly[np.maximum(own, 0)]] = preparing
    return replace(result, kind=kind)


def _find_midflight(trace: Trace, gaps: Gaps, reading: Reading, result: Sorted) -> Sorted:
    """Before a recording's first work the host waits for the device, or has launched long ago: the device is busy with
    what was not recorded."""
    rows = np.flatnonzero(trace.where(ON_DEVICE))
    if not len(gaps) or not rows.size:
        return result
    before = trace.intervals_of(trace.where(ON_DEVICE)).before_ns(gaps.start_ns)
    early = before <= EARLY * (gaps.end_ns - gaps.start_ns)
    waits = (result.kind == LATENCY) | np.isin(
        result.kind, [KINDS.index("synchronisation"), KINDS.index("blocked_copy")]
    )
    length = reading.length_ns
    lost = np.zeros(len(gaps), np.int64)
    np.add.at(lost, reading.pieces.gap[waits], length[waits])
    chosen = early & (lost >= LATE_NS) & (2 * lost >= gaps.end_ns - gaps.start_ns)
    kind = result.kind.copy()
    kind[waits & chosen[reading.pieces.gap]] = KINDS.index("midflight")
    return replace(result, kind=kind)


def give_waits_their_gaps(trace: Trace, gaps: Gaps, reading: Reading, result: Sorted) -> tuple[Reading, Sorted]:
    """Give pieces without a cause of their own to the wait in which the device ran dry, up to the time that the host
    lost in it before: had it not waited, it would have handed out work so much earlier. A piece that is longer is
    split."""
    kinds = [KINDS.index("synchronisation"), KINDS.index("blocked_copy")]
    waiting = np.isin(result.kind, kinds) & (reading.pieces.start_ns == gaps.start_ns[reading.pieces.gap])
    if not waiting.any():
        return reading, result
    wait_of_gap = np.full(len(gaps), NOBODY, np.int64)
    wait_of_gap[reading.pieces.gap[waiting]] = np.flatnonzero(waiting)
    begun = trace.start_ns[reading.row[wait_of_gap]]
    budget = np.where(wait_of_gap >= 0, gaps.start_ns - begun, 0)
    source = wait_of_gap[reading.pieces.gap]
    wanted = np.isin(result.kind, [GENERIC, UNSEEN, LATENCY]) & (source >= 0)
    open_ones = np.flatnonzero(wanted)
    if not open_ones.size:
        return reading, result
    gap, length = reading.pieces.gap[open_ones], reading.length_ns[open_ones]
    given_ns = np.clip(budget[gap] - (_running_total(length, gap) - length), 0, length)
    part = np.zeros(len(reading.pieces), np.int64)
    part[open_ones] = given_ns
    kind, place = result.kind.copy(), result.place.copy()
    taken = part > 0
    kind[taken], place[taken] = result.kind[source[taken]], result.place[source[taken]]
    split = np.flatnonzero(taken & (part < reading.length_ns))
    end = reading.pieces.end_ns.copy()
    end[split] = reading.pieces.start_ns[split] + part[split]
    rest = take_reading(reading, split)
    start = rest.pieces.start_ns + part[split]
    rest = replace(rest, pieces=replace(rest.pieces, start_ns=start))
    cut = replace(reading, pieces=replace(reading.pieces, end_ns=end))
    joined, order = join_readings([cut, rest])
    return joined, Sorted(
        np.concatenate([kind, result.kind[split]])[order], np.concatenate([place, result.place[split]])[order]
    )


def _running_total(values: I64, group: Rows) -> I64:
    """Return the sum of the values up to each, within its group; the groups come in order."""
    total = np.cumsum(values)
    new = np.concatenate([[True], np.diff(group) > 0])
    before = np.concatenate([[0], total])[np.flatnonzero(new)]
    running: I64 = total - before[np.cumsum(new) - 1]
    return running
