"""Events that a trace tells as a beginning (`ph` B) and an end (E), as complete ones.

On each thread they nest like brackets, in order of time and at one moment in the file's order:
https://chromium.googlesource.com/catapult (Trace Event Format, duration events).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helpers.profiling.readers.records import Label, Record
from helpers.profiling.readers.times import LIMIT, nanoseconds_of


def pairs(halves: Sequence[Record]) -> tuple[list[Record], int]:
    """Complete events in order of their beginnings, and how many halves found no other."""
    at_ns = nanoseconds_of([one.ts for one in halves]).tolist() if halves else []
    open_ones: dict[tuple[Label, Label], list[int]] = {}
    found: dict[int, Record] = {}
    lost = 0
    for at in sorted(range(len(halves)), key=at_ns.__getitem__):
        one = halves[at]
        stack = open_ones.setdefault((one.pid, one.tid), [])
        if at_ns[at] <= -LIMIT:
            lost += 1
        elif one.ph == "B":
            stack.append(at)
        elif stack:
            begin = stack.pop()
            found[begin] = _complete(halves[begin], at_ns[at] - at_ns[begin])
        else:
            lost += 1
    return [found[at] for at in sorted(found)], lost + sum(map(len, open_ones.values()))


def _complete(begin: Record, duration_ns: int) -> Record:
    text = f"{duration_ns // 1000}.{duration_ns % 1000:03d}".encode()
    return Record(begin.name, "X", begin.cat, begin.pid, begin.tid, begin.ts, msgspec.Raw(text), begin.id, begin.args)
