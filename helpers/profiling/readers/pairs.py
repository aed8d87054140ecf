"""Events that a trace tells as a beginning (`ph` B) and an end (E), as complete ones.

On each thread they nest like brackets, in order of time and at one moment in the file's order:
https://chromium.googlesource.com/catapult (Trace Event Format, duration events).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

import msgspec

from helpers.profiling.readers.records import Begin, Complete, End, Label
from helpers.profiling.readers.times import LIMIT, nanoseconds_of


def pairs(halves: Sequence[Union[Begin, End]]) -> tuple[list[Complete], int]:
    """Complete events in order of their beginnings, and how many halves found no other."""
    at_ns = nanoseconds_of([one.ts for one in halves]).tolist() if halves else []
    open_ones: dict[tuple[Label, Label], list[tuple[int, Begin]]] = {}
    found: dict[int, Complete] = {}
    lost = 0
    for at in sorted(range(len(halves)), key=at_ns.__getitem__):
        one = halves[at]
        stack = open_ones.setdefault((one.pid, one.tid), [])
        if at_ns[at] <= -LIMIT:
            lost += 1
        elif isinstance(one, Begin):
            stack.append((at, one))
        elif stack:
            begun_at, begin = stack.pop()
            found[begun_at] = _complete(begin, at_ns[at] - at_ns[begun_at])
        else:
            lost += 1
    return [found[at] for at in sorted(found)], lost + sum(map(len, open_ones.values()))


def _complete(begin: Begin, duration_ns: int) -> Complete:
    text = f"{duration_ns // 1000}.{duration_ns % 1000:03d}".encode()
    return Complete(begin.name, begin.cat, begin.pid, begin.tid, begin.ts, msgspec.Raw(text), begin.args)
