"""What calls what, with the time of each: stacks of operators and Python functions, and of kernels under who launched.

The text form is that of FlameGraph's stackcollapse (a line a stack, frames by `;`, a number behind a blank), which
https://www.speedscope.app and flamegraph.pl read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from helpers.profiling.attribution import Nesting, nestings
from helpers.profiling.operators import MEASURED
from helpers.profiling.trace import Trace

CALLERS = ("host_op", "python", "annotation", "loading", "runtime")
HOST, DEVICE = "host", "device"
SMALLEST = 0.001


@dataclass(frozen=True)
class Stacks:
    """Stacks by number: `above[k]` is the stack around stack k (-1: none), `frame[k]` its innermost frame's name,
    `self_ns[k]` its own time in nanoseconds. A stack comes after the one around it."""

    frame: list[str]
    above: list[int]
    self_ns: list[int]

    def collapsed(self) -> str:
        """A line for each stack that has time of its own, in nanoseconds; root frames: host or device, and the lane."""
        told: list[str] = []
        lines = []
        for name, above, own in zip(self.frame, self.above, self.self_ns):
            told.append(f"{told[above]};{_plain(name)}" if above >= 0 else _plain(name))
            if own > 0:
                lines.append(f"{told[-1]} {own}\n")
        return "".join(lines)

    def total_ns(self) -> list[int]:
        """Each stack's time with all that is inside it."""
        totals = list(self.self_ns)
        for at in range(len(totals) - 1, -1, -1):
            if self.above[at] >= 0:
                totals[self.above[at]] += totals[at]
        return totals


def stacks(trace: Trace, steps: Iterable[int] | None = None) -> Stacks:
    """The stacks of the steps with these numbers, of the whole trace where None."""
    wanted = np.ones(len(trace), np.bool_) if steps is None else trace.in_steps(set(steps))
    rows = np.flatnonzero(wanted & trace.where(CALLERS))
    tree = _Tree(trace)
    threads = nestings(trace.lane[rows], trace.start_ns[rows], trace.duration_ns[rows], rows)
    for lane, thread in sorted(threads.items()):
        tree.host(trace.lanes[lane], thread)
    tree.device(np.flatnonzero(wanted & trace.where(MEASURED)))
    return Stacks(tree.frame, tree.above, tree.own)


class _Tree:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.frame: list[str] = []
        self.above: list[int] = []
        self.own: list[int] = []
        self._known: dict[tuple[int, str], int] = {}
        #: Row of a host operator -> its stack on the host
        self._of: dict[int, int] = {}

    def host(self, lane: str, thread: Nesting) -> None:
        root = self._stack(self._stack(-1, HOST), lane)
        placed = [root] * len(thread.rows)
        columns = (thread.rows.tolist(), thread.parent.tolist(), thread.self_ns().tolist())
        for at, (row, parent, own) in enumerate(zip(*columns)):
            placed[at] = self._stack(placed[parent] if parent >= 0 else root, self._name(row))
            self.own[placed[at]] += max(0, own)
            self._of[row] = placed[at]

    def device(self, rows: npt.NDArray[np.intp]) -> None:
        """Kernels under the operators that launched them, whose stack is the one on the host."""
        under: dict[int, int] = {}
        for row in rows.tolist():
            caller = self._of.get(int(self.trace.launched_by[row]), -1)
            lane = self.trace.lanes[self.trace.lane[row]]
            if caller not in under:
                under[caller] = self._again(caller)
            stack = under[caller] if caller >= 0 else self._stack(under[caller], lane)
            self.own[self._stack(stack, self._name(row))] += int(self.trace.duration_ns[row])

    def _again(self, caller: int) -> int:
        """The caller's stack without its thread, below the root of the device."""
        frames = []
        while caller >= 0 and self.above[caller] >= 0:
            frames.append(self.frame[caller])
            caller = self.above[caller]
        at = self._stack(-1, DEVICE)
        for name in reversed(frames[:-1]):
            at = self._stack(at, name)
        return at

    def _name(self, row: int) -> str:
        name: str = self.trace.names[self.trace.name[row]]
        return name

    def _stack(self, above: int, name: str) -> int:
        at = self._known.setdefault((above, name), len(self.frame))
        if at == len(self.frame):
            self.frame.append(name)
            self.above.append(above)
            self.own.append(0)
        return at


@dataclass(frozen=True)
class Box:
    """A frame of the picture: its depth, and its place and width as shares (0 to 1) of what all roots take."""

    name: str
    depth: int
    start: float
    share: float


def boxes(found: Stacks, smallest: float = SMALLEST) -> list[Box]:
    """The frames as a flame graph lays them out, the widest first inside each; those below `smallest` are left out."""
    totals = found.total_ns()
    whole = sum(total for total, above in zip(totals, found.above) if above < 0) or 1
    inside: dict[int, list[int]] = {}
    for at, above in enumerate(found.above):
        inside.setdefault(above, []).append(at)
    laid: list[Box] = []
    waiting = [(-1, 0, 0)]
    while waiting:
        parent, depth, start = waiting.pop()
        for at in sorted(inside.get(parent, ()), key=lambda at: (-totals[at], found.frame[at])):
            if totals[at] >= smallest * whole:
                laid.append(Box(found.frame[at], depth, start / whole, totals[at] / whole))
                waiting.append((at, depth + 1, start))
            start += totals[at]
    return laid


def _plain(name: str) -> str:
    """A frame's name on one line, without the sign that parts frames."""
    return " ".join(name.replace(";", ":").split()) or "?"
