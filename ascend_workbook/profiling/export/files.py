"""The files that `analyse` writes beside its report: timeline, Perfetto trace, flame graph.

A flame graph's text form is that of FlameGraph's stackcollapse (a line a stack, frames by `;`, a number behind a
blank), which https://www.speedscope.app and flamegraph.pl read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.profiling.attribution import Nesting, nest_by_lane
from ascend_workbook.profiling.export import ENDINGS
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.readers.ascend import FOLDER
from ascend_workbook.profiling.trace import ON_DEVICE, Trace
from ascend_workbook.redaction.exits import redact
from ascend_workbook.storage import refuse_unwritable, write_file

ROWS = 40


def refuse_targets(files: Mapping[str, str], profiles: Sequence[str | os.PathLike[str]]) -> None:
    """Raise WorkbookError or OSError where one of the files cannot be written, or would lie over or in one of the
    `profiles`: before a long reading, not after."""
    read = [Path(profile).resolve() for profile in profiles]
    for kind, path in files.items():
        if not path.endswith(ENDINGS[kind]):
            raise WorkbookError("profiling.picture_kind", path=path, wanted=list(ENDINGS[kind]))
        target = Path(path).resolve()
        inside = [profile_path for profile_path in read if profile_path == target or profile_path in target.parents]
        if inside or any(above.name.endswith(FOLDER) for above in target.parents):
            raise WorkbookError("profiling.over_profile", path=path, option=f"--{kind}")
        refuse_unwritable(path)


def export_files(profile: Profile, timeline: Report, files: Mapping[str, str], lang: str | None = None) -> None:
    """Write each kind of file (ENDINGS) to the path given for it; `timeline` is the report of that name."""
    for kind, path in files.items():
        if kind == "perfetto":
            from ascend_workbook.profiling.export.perfetto import write_perfetto

            write_perfetto(profile.trace, path)
        elif path.endswith(".txt"):
            write_file(path, _steady_stacks(profile).write_collapsed().encode("utf-8", "backslashreplace"))
        elif path.endswith(".html"):
            write_file(path, redact(timeline.html(lang)).encode("utf-8", "backslashreplace"))
        else:
            figure = (timeline if kind == "timeline" else report_flame(profile)).figure(lang)
            figure.savefig(path, dpi=130, facecolor="white")


def report_flame(profile: Profile) -> Report:
    """Report the stacks of the steady steps as a flame graph: a row for each frame with most time of its own."""
    flame_stacks = _steady_stacks(profile)
    own: dict[str, int] = {}
    for name, spent in zip(flame_stacks.frame, flame_stacks.self_ns):
        own[name] = own.get(name, 0) + spent
    costly = sorted(own.items(), key=lambda entry: (-entry[1], entry[0]))[:ROWS]
    steps = len(profile.breakdown.steady)
    rows: tuple[tuple[Scalar, ...], ...] = tuple((name, spent / steps / 1e6) for name, spent in costly if spent)
    placed = [
        [entry.name, entry.depth, round(entry.start, 6), round(entry.share, 6)] for entry in lay_out_boxes(flame_stacks)
    ]
    finding = Finding("PRF341", Status.GOOD, "PRF341.drawn", {"stacks": len(flame_stacks.frame), "frames": len(placed)})
    table = Table((Column("operator"), Column("self_time", "ms")), rows)
    chart = Chart("flame", "operator", ("self_time",), "ms")
    return Report("profiling", "flame", (finding,), table, chart, facts={"flame": placed}, tier=profile.tier)


def _steady_stacks(profile: Profile) -> Stacks:
    """Collect the stacks of the steady steps."""
    return collect_stacks(profile.trace, [step.number for step in profile.breakdown.steady])


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
    tree.add_device(np.flatnonzero(wanted & trace.where(ON_DEVICE)))
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
