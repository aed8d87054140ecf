"""Which steps of a trace are looked at: all of a small one, of a large one so many that memory stays bounded.

A step's marks stand in the file as events of their own. They are looked for first, without reading the others; then
only what lies around the chosen steps is read (cutting). Those chosen follow one another, and together take as long a
step as all of the trace do on the mean. A small file is always read whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.number_lists import format_spans, parse_numbers
from ascend_workbook.profiling.readers.document import READ_SIZE, Source
from ascend_workbook.profiling.readers.values import LIMIT, to_nanoseconds
from ascend_workbook.profiling.trace import Looked

#: Bytes of a trace, unpacked, that are looked at whole: as columns these take some 100 MiB
WHOLE = 2**29
#: The part of it that is looked at of a larger one: taking the steps around away needs memory too
PART = 0.75
#: A packed file of this part of it cannot unpack to more
PACKED = 64
#: Steps read on either side, for the device runs behind the host; and bytes, where that was too little: more launches
#: than fit into a device's queues
AROUND = 2
MORE = 2**26
FEWEST = 4
#: Spans of steps that an error names, from either end
NAMED = 4
#: Means that differ by this part count as equal: then the steps in the middle are taken
ALIKE = 0.002
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
    """The steps from the place `first` to the place `last` of all `marks`, in a file of `size` bytes (0: unknown)."""

    marks: tuple[Mark, ...]
    first: int
    last: int
    size: int = 0

    @property
    def span(self) -> str:
        """Return the numbers of the chosen steps, `40-60` or, where some are missing in between, `8-9,20-21`."""
        return format_spans([mark.number for mark in self.marks[self.first : self.last + 1]]).replace(" ", "")

    def file_window(self, around: int) -> tuple[int, int]:
        """Return the file's nanoseconds [begin, end) that hold the chosen steps and so many on either side."""
        begin = self.marks[self.first - around].start_ns if self.first > around else -LIMIT
        behind = self.last + around + 1
        return begin, self.marks[behind].start_ns if behind < len(self.marks) else LIMIT

    @property
    def steps_further_around(self) -> int:
        """Return how many steps on either side are read where AROUND is too little."""
        return max(2 * AROUND, -(-MORE * len(self.marks) // max(1, self.size)))

    @property
    def looked_steps(self) -> Looked:
        """Return what is told of the choice, without what reading it shows."""
        took = _step_durations(self.marks)
        others = [at for at in range(len(took)) if not self.first <= at <= self.last]
        slowest = max(others, key=took.__getitem__)
        mean = float(np.mean(took[1:] or took))
        first, last = self.marks[self.first].number, self.marks[self.last].number
        return Looked(first, last, len(took), mean, self.marks[slowest].number, took[slowest])


class Whole(NamedTuple):
    """A file that is read whole; `why` is the key of the reason where it is a large one: no_marks, unclear_marks,
    same_numbers, few_steps."""

    size: int
    why: str = ""


def choose_steps(path: Path, steps: str = ALL, whole: int | None = None) -> Choice | Whole:
    """Choose what is read of the trace file at `path`. `steps`: `auto`, `all`, or numbers such as `40-60`. A large
    trace without marks, or whose marks do not tell a step's number once, is read whole. Raises WorkbookError for
    numbers that are no span of the file's steps, which it then names."""
    whole = whole or WHOLE
    packed = path.stat().st_size
    if steps == ALL or packed <= whole // (PACKED if path.suffix == ".gz" else 1):
        return Whole(packed)
    marks, unclear, size = _read_marks(path)
    if size <= whole:
        return Whole(size)
    once = len({mark.number for mark in marks}) == len(marks)
    why = "unclear_marks" if unclear else "no_marks" if not marks else "" if once else "same_numbers"
    if why:
        return Whole(size, why)
    if steps != AUTO:
        return choice_of(marks, steps, path, size) or Whole(size)
    count = max(FEWEST, int(len(marks) * PART * whole / size) - 2 * AROUND)
    if count + 2 * AROUND >= len(marks):
        return Whole(size, "few_steps")
    first = _choose_like_the_mean(marks, count)
    return Choice(tuple(marks), first, first + count - 1, size)


def choice_of(marks: Sequence[Mark], steps: str, path: Path, size: int = 0) -> Choice | None:
    """Return the choice of the steps with these numbers, such as `40-60`; None: they are all that there are."""
    wanted = parse_numbers(steps, "steps")
    at = [place for place, mark in enumerate(marks) if mark.number in set(wanted)]
    if len(at) < len(wanted) or at[-1] - at[0] + 1 != len(at):
        runs = format_spans([mark.number for mark in marks]).split(", ")
        here = ", ".join(runs if len(runs) <= 2 * NAMED else [*runs[:NAMED], "...", *runs[-NAMED:]])
        raise WorkbookError("profiling.no_such_steps", path=str(path), steps=steps, here=here)
    first, last = at[0], at[-1]
    return Choice(tuple(marks), first, last, size) if last - first + 1 < len(marks) else None


def _step_durations(marks: Sequence[Mark]) -> list[int]:
    """Return the nanoseconds of each step, which lasts until the next begins."""
    following = [*(mark.start_ns for mark in marks[1:]), marks[-1].end_ns]
    return [after - mark.start_ns for mark, after in zip(marks, following)]


def _choose_like_the_mean(marks: Sequence[Mark], count: int) -> int:
    """Return where `count` steps begin, none of them the first, whose mean is nearest to that of all but the first; of
    equal ones those nearest to the middle, away from what warms up and what ends."""
    took = np.array(_step_durations(marks)[1:], np.float64)
    off = np.abs(np.convolve(took, np.ones(count), "valid") / count - took.mean())
    alike = np.flatnonzero(off <= off.min() + ALIKE * took.mean())
    return 1 + int(alike[np.argmin(np.abs(alike - (off.size - 1) / 2))])


def _read_marks(path: Path) -> tuple[list[Mark], int, int]:
    """Read the host's marks in order of time, how many more are of no use, and the file's bytes, unpacked."""
    candidates: list[Mark | None] = []
    text, begin, size = b"", 0, 0  # what is at hand, where in it names are not looked for yet, all that was read
    with Source(path) as source:
        while piece := source.read_bytes(READ_SIZE):
            text, size = text + piece, size + len(piece)
            end = len(text) - REACH
            candidates += _marks_of(text, begin, end)
            keep_from = max(0, end - REACH)
            text, begin = text[keep_from:], max(begin, end) - keep_from
    candidates += _marks_of(text, begin, len(text))
    if source.damage and not candidates:
        raise WorkbookError("profiling.damaged_gzip", path=str(path), **source.damage)
    marks = sorted((mark for mark in candidates if mark), key=lambda mark: mark.start_ns)
    return marks, len(candidates) - len(marks), size


def _marks_of(text: bytes, begin: int, end: int) -> Iterator[Mark | None]:
    """Yield the marks whose names begin in [begin, end); None for one that is no event of its own."""
    for name in MARK.finditer(text, begin):
        if name.start() >= end:
            break
        event = _event_around(text, name.start())
        if not event or (event.get("ph") == "B" and _is_mark(event, name)):
            yield None
        elif event.get("ph") == "X" and _is_mark(event, name):
            try:
                start = to_nanoseconds(event.get("ts"))
                lasts = to_nanoseconds(event.get("dur"))
            except ValueError:
                continue  # the reader counts what has no usable time
            if 0 <= start < LIMIT and 0 <= lasts < LIMIT:
                yield Mark(int(name.group(1)), start, start + lasts)


def _is_mark(event: dict[str, object], name: re.Match[bytes]) -> bool:
    """Return whether the event is the mark of this name on the host."""
    of_host = not str(event.get("cat") or "").startswith("gpu_")
    return event.get("name") == name.group()[1:-1].decode() and of_host


def _event_around(text: bytes, at: int) -> dict[str, object]:
    """Return the event that the text at this place is in, or an empty one."""
    begin = at
    while (begin := text.rfind(b"{", max(0, at - REACH), begin)) >= 0:
        try:
            event, behind = json.JSONDecoder(parse_float=str).raw_decode(text[begin : at + REACH].decode("latin-1"))
        except ValueError:
            continue
        if isinstance(event, dict) and begin + behind > at:
            return event
    return {}
