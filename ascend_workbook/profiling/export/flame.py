"""What calls what, with the time of each: stacks of operators and Python functions, and of kernels under who launched.

The text form is that of FlameGraph's stackcollapse (a line a stack, frames by `;`, a number behind a blank), which
https://www.speedscope.app and flamegraph.pl read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.attribution import Nesting, nest_by_lane
from ascend_workbook.profiling.operators import MEASURED
from ascend_workbook.profiling.trace import Trace

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

    def write_collapsed(self) -> str:
        """Write a line for each stack with time of its own, in nanoseconds; root frames: host or device, and lane."""
        paths: list[str] = []
        lines = []
        for name, above, own in zip(self.frame, self.above, self.self_ns):
            paths.append(f"{paths[above]};{_clean_name(name)}" if above >= 0 else _clean_name(name))
            if own > 0:
                lines.append(f"{paths[-1]} {own}\n")
        return "".join(lines)

    def total_ns(self) -> list[int]:
        """Return each stack's time with all that is inside it."""
        totals = list(self.self_ns)
        for at in range(len(totals) - 1, -1, -1):
            if self.above[at] >= 0:
                totals[self.above[at]] += totals[at]
        return totals


def collect_stacks(trace: Trace, steps: Iterable[int] | None = None) -> Stacks:
    """Collect the stacks of the steps with these numbers, of the whole trace where None."""
    wanted = np.ones(len(trace), np.bool_) if steps is None else trace.in_steps(set(steps))
    rows = np.flatnonzero(wanted & trace.where(CALLERS))
    tree = _Tree(trace)
    threads = nest_by_lane(trace.lane[rows], trace.start_ns[rows], trace.duration_ns[rows], rows)
    for lane, thread in sorted(threads.items()):
        tree.add_host(trace.lanes[lane], thread)
    tree.add_device(np.flatnonzero(wanted & trace.where(MEASURED)))
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

    def add_host(self, lane: str, thread: Nesting) -> None:
        """Add the operators of one host thread."""
        root = self._add_stack(self._add_stack(-1, HOST), lane)
        placed = [root] * len(thread.rows)
        columns = (thread.rows.tolist(), thread.parent.tolist(), thread.self_ns().tolist())
        for at, (row, parent, own) in enumerate(zip(*columns)):
            placed[at] = self._add_stack(placed[parent] if parent >= 0 else root, self._name_of_row(row))
            self.own[placed[at]] += max(0, own)
            self._of[row] = placed[at]

    def add_device(self, rows: npt.NDArray[np.intp]) -> None:
        """Add kernels under the operators that launched them, whose stack is the one on the host."""
        under: dict[int, int] = {}
        for row in rows.tolist():
            caller = self._of.get(int(self.trace.launched_by[row]), -1)
            lane = self.trace.lanes[self.trace.lane[row]]
            if caller not in under:
                under[caller] = self._copy_to_device(caller)
            stack = under[caller] if caller >= 0 else self._add_stack(under[caller], lane)
            self.own[self._add_stack(stack, self._name_of_row(row))] += int(self.trace.duration_ns[row])

    def _copy_to_device(self, caller: int) -> int:
        """Add the caller's stack without its thread, below the root of the device."""
        frames = []
        while caller >= 0 and self.above[caller] >= 0:
            frames.append(self.frame[caller])
            caller = self.above[caller]
        at = self._add_stack(-1, DEVICE)
        for name in reversed(frames[:-1]):
            at = self._add_stack(at, name)
        return at

    def _name_of_row(self, row: int) -> str:
        name: str = self.trace.names[self.trace.name[row]]
        return name

    def _add_stack(self, above: int, name: str) -> int:
        """Return the stack of this frame within another, a new one where there is none."""
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


def lay_out_boxes(flame_stacks: Stacks, smallest: float = SMALLEST) -> list[Box]:
    """Lay out the frames as a flame graph, the widest first inside each; those below `smallest` are left out."""
    totals = flame_stacks.total_ns()
    whole = sum(total for total, above in zip(totals, flame_stacks.above) if above < 0) or 1
    inside: dict[int, list[int]] = {}
    for at, above in enumerate(flame_stacks.above):
        inside.setdefault(above, []).append(at)
    placed: list[Box] = []
    waiting = [(-1, 0, 0)]
    while waiting:
        parent, depth, start = waiting.pop()
        for at in sorted(inside.get(parent, ()), key=lambda at: (-totals[at], flame_stacks.frame[at])):
            if totals[at] >= smallest * whole:
                placed.append(Box(flame_stacks.frame[at], depth, start / whole, totals[at] / whole))
                waiting.append((at, depth + 1, start))
            start += totals[at]
    return placed


def _clean_name(name: str) -> str:
    """Return a frame's name on one line, without the sign that parts frames."""
    return " ".join(name.replace(";", ":").split()) or "?"
