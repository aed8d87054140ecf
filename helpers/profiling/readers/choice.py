"""Which steps of a trace are looked at: all of a small one, of a large one so many that memory stays bounded.

A step's marks stand in the file as events of their own. They are looked for first, without reading the others; then
only what lies around the chosen steps is read. Those chosen follow one another, and together take as long a step as
all of the trace do on the mean. The step before them is read too: with a device a step begins where the device's work
of the one before ends; it counts as the first one does in a small trace, as warm-up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from helpers.errors import WorkbookError
from helpers.number_lists import numbers
from helpers.profiling.readers.stream import PIECE, Source
from helpers.profiling.readers.times import LIMIT, nanoseconds
from helpers.profiling.trace import Looked

#: Bytes of a trace, unpacked, that are looked at whole: as columns these take some 100 MiB
WHOLE = 2**29
#: The part of it that is looked at of a larger one: taking the steps around away needs memory too
PART = 0.75
#: A packed file of this part of it cannot unpack to more
PACKED = 64
#: Steps read on either side: the device runs behind the host
AROUND = 2
FEWEST = 4
ALL, AUTO = "all", "auto"
MARK = re.compile(rb'"ProfilerStep#(\d{1,15})"')
#: Bytes before and behind its name in which the event of a mark lies
REACH = 4096


class Mark(NamedTuple):
    """One step's mark, in the file's own nanoseconds."""

    number: int
    start_ns: int
    end_ns: int


class Choice(NamedTuple):
    """Steps `lead` (which is not counted) to `last`, and the file's nanoseconds [begin, end) that hold all of them."""

    lead: int
    last: int
    begin_ns: int
    end_ns: int
    looked: Looked


def choose(path: Path, steps: str = ALL, whole: int | None = None) -> Choice | None:
    """What is read of the trace file at `path`; None: all of it. `steps`: `auto`, `all`, or numbers such as `40-60`.

    A trace without marks, or whose marks do not tell a step's number once, is read whole. Raises WorkbookError for
    numbers that are no span of the file's steps, which it then names.
    """
    whole = whole or WHOLE
    if steps == ALL or (steps == AUTO and path.stat().st_size <= whole // (PACKED if path.suffix == ".gz" else 1)):
        return None
    marks, size = _marks(path)
    if not marks or len({one.number for one in marks}) < len(marks):
        return None
    if steps != AUTO:
        return choice_of(marks, steps, path)
    count = max(FEWEST, int(len(marks) * PART * whole / size) - 2 * AROUND)
    if size <= whole or count + 2 * AROUND >= len(marks):
        return None
    first = _like_the_mean(marks, count)
    return _choice(marks, first, first + count - 1)


def choice_of(marks: Sequence[Mark], steps: str, path: Path) -> Choice | None:
    """The choice of the steps with these numbers, such as `40-60`; None: they are all that there are."""
    return _choice(marks, *_span(marks, steps, path))


def _span(marks: Sequence[Mark], steps: str, path: Path) -> tuple[int, int]:
    """Where in `marks` the first and the last of the steps stand that `steps` asks for."""
    wanted = numbers(steps, "steps")
    at = [place for place, one in enumerate(marks) if one.number in set(wanted)]
    if len(at) < len(wanted) or at[-1] - at[0] + 1 != len(at):
        here = f"{marks[0].number}-{marks[-1].number}"
        raise WorkbookError("profiling.no_such_steps", path=str(path), steps=steps, here=here)
    return at[0], at[-1]


def _choice(marks: Sequence[Mark], first: int, last: int) -> Choice | None:
    if last - first + 1 == len(marks):
        return None
    begin = marks[max(0, first - AROUND)].start_ns if first > AROUND else -LIMIT
    behind = last + AROUND + 1
    end = marks[behind].start_ns if behind < len(marks) else LIMIT
    return Choice(marks[max(0, first - 1)].number, marks[last].number, begin, end, _looked(marks, first, last))


def _looked(marks: Sequence[Mark], first: int, last: int) -> Looked:
    took = _took(marks)
    others = [at for at in range(len(marks)) if not first <= at <= last]
    slowest = max(others, key=took.__getitem__)
    mean = float(np.mean(took[1:] or took))
    return Looked(marks[first].number, marks[last].number, len(marks), mean, marks[slowest].number, took[slowest])


def _took(marks: Sequence[Mark]) -> list[int]:
    """A step lasts until the next begins: nanoseconds of each."""
    following = [*(one.start_ns for one in marks[1:]), marks[-1].end_ns]
    return [after - one.start_ns for one, after in zip(marks, following)]


def _like_the_mean(marks: Sequence[Mark], count: int) -> int:
    """Where `count` steps begin, none of them the first, whose mean is nearest to that of all but the first."""
    took = np.array(_took(marks)[1:], np.float64)
    sums = np.convolve(took, np.ones(count), "valid")
    return 1 + int(np.argmin(np.abs(sums / count - took.mean())))


def _marks(path: Path) -> tuple[list[Mark], int]:
    """The marks of the host in order of time, and how many bytes the file has, unpacked."""
    found: list[Mark] = []
    text, begin, size = b"", 0, 0  # what is at hand, where in it names are not looked for yet, all that was read
    with Source(path) as source:
        while piece := source.read(PIECE):
            text, size = text + piece, size + len(piece)
            end = len(text) - REACH
            found += _marks_of(text, begin, end)
            kept = max(0, end - REACH)
            text, begin = text[kept:], max(begin, end) - kept
    found += _marks_of(text, begin, len(text))
    return sorted(found, key=lambda one: one.start_ns), size


def _marks_of(text: bytes, begin: int, end: int) -> Iterator[Mark]:
    """Those whose names begin in [begin, end)."""
    for name in MARK.finditer(text, begin):
        if name.start() >= end:
            break
        event = _around(text, name.start())
        if event.get("ph") == "X" and event.get("name") == name.group()[1:-1].decode() and _of_host(event):
            try:
                start = nanoseconds(event.get("ts"))
                lasts = nanoseconds(event.get("dur"))
            except ValueError:
                continue  # the reader counts what has no usable time
            if 0 <= start < LIMIT and 0 <= lasts < LIMIT:
                yield Mark(int(name.group(1)), start, start + lasts)


def _of_host(event: dict[str, Any]) -> bool:
    return not str(event.get("cat") or "").startswith("gpu_")


def _around(text: bytes, at: int) -> dict[str, Any]:
    """The event that the text at this place is in, or an empty one."""
    begin = at
    while (begin := text.rfind(b"{", max(0, at - REACH), begin)) >= 0:
        try:
            found, behind = json.JSONDecoder(parse_float=str).raw_decode(text[begin : at + REACH].decode("latin-1"))
        except ValueError:
            continue
        if isinstance(found, dict) and begin + behind > at:
            return found
    return {}
