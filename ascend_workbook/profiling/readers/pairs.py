"""Events that a trace tells as a beginning (`ph` B) and an end (E), as complete ones.

On each thread they nest like brackets, in order of time and at one moment in the file's order:
https://chromium.googlesource.com/catapult (Trace Event Format, duration events).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

import msgspec

from ascend_workbook.profiling.readers.records import Begin, Complete, End, Label
from ascend_workbook.profiling.readers.times import LIMIT, nanoseconds_of


def pair_halves(halves: Sequence[Union[Begin, End]]) -> tuple[list[Complete], int]:
    """Return complete events in order of their beginnings, and how many halves found no other."""
    at_ns = nanoseconds_of([half.ts for half in halves]).tolist() if halves else []
    open_ones: dict[tuple[Label, Label], list[tuple[int, Begin]]] = {}
    complete_events: dict[int, Complete] = {}
    lost = 0
    for at in sorted(range(len(halves)), key=at_ns.__getitem__):
        half = halves[at]
        stack = open_ones.setdefault((half.pid, half.tid), [])
        if at_ns[at] <= -LIMIT:
            lost += 1
        elif isinstance(half, Begin):
            stack.append((at, half))
        elif stack:
            begun_at, begin = stack.pop()
            complete_events[begun_at] = _make_complete(begin, at_ns[at] - at_ns[begun_at])
        else:
            lost += 1
    return [complete_events[at] for at in sorted(complete_events)], lost + sum(map(len, open_ones.values()))


def _make_complete(begin: Begin, duration_ns: int) -> Complete:
    text = f"{duration_ns // 1000}.{duration_ns % 1000:03d}".encode()
    return Complete(begin.name, begin.cat, begin.pid, begin.tid, begin.ts, msgspec.Raw(text), begin.args)
