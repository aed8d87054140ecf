"""What the rules judge: a trace, what was computed from it, and what is known of where it was taken."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError
from helpers.profiling.breakdown import Breakdown, break_down, idle_gaps
from helpers.profiling.device.idle import idle_by_cause
from helpers.profiling.device.launches import Launches, launches
from helpers.profiling.exposed import Exposed, exposed
from helpers.profiling.intervals import Intervals
from helpers.profiling.operators import Operator, operators
from helpers.profiling.readers import DATA, locate, read, told_steps
from helpers.profiling.readers.ascend import TIMELINE, output_of
from helpers.profiling.readers.choice import ALL
from helpers.profiling.readers.kernel_table import KernelTable, kernel_table
from helpers.profiling.readers.memory_tables import MemoryTables, memory_tables
from helpers.profiling.trace import Trace

SIMULATED = "npu-simulated"
#: Written by `profile` beside what it collected
RECORD = "collected.json"
#: cudaDeviceSynchronize, hipStreamSynchronize, AscendCL@aclrtSynchronizeStream; `.item()` and `.cpu()` call them
CALLS_THAT_WAIT = ("Synchronize", "aten::_local_scalar_dense")


@dataclass(frozen=True)
class Profile:
    """A trace and its breakdown. `tier` is empty where neither the record nor the trace tells it; `told` is what the
    profiler's own table says of each step (tables.step_times); `output` the folder in which its tables lie."""

    trace: Trace
    breakdown: Breakdown
    operators: tuple[Operator, ...]
    tier: str
    record: dict[str, Any]
    told: dict[int, dict[str, int]] = field(default_factory=dict)
    output: Path | None = None

    @classmethod
    def of(
        cls, trace: Trace, record: dict[str, Any] | None = None, told: dict[int, dict[str, int]] | None = None
    ) -> Profile:
        breakdown = break_down(trace)
        if not breakdown.steps:
            behind = trace.looked is not None and trace.looked.behind
            raise WorkbookError("profiling.too_far_behind" if behind else "profiling.no_steps", path=trace.source)
        found = operators(trace, [step.number for step in breakdown.steady])
        record = record or {}
        tier = tier_of(trace) if trace.simulated else str(record.get("tier") or tier_of(trace))
        return cls(trace, breakdown, tuple(found), tier, record, told or {})

    @property
    def conclusive(self) -> bool:
        """Whether it tells where time goes. Host operators of an accelerator only hand out work: without its own
        times theirs mean nothing. On a CPU, and on the simulated NPU, they are the work."""
        return self.trace.on_device or self.tier in ("cpu", SIMULATED)

    @property
    def simulated(self) -> bool:
        """Whether the device's times, where there are any, are those of the CPU's kernels."""
        return self.tier == SIMULATED

    @property
    def device_times(self) -> bool:
        """Whether times of a real accelerator are in it."""
        return self.trace.on_device and not self.simulated

    @cached_property
    def waiting(self) -> Intervals:
        """When the host waits for the device: synchronising calls, and reading a value such as loss.item()."""
        waits = self.trace.named(lambda name: any(call in name for call in CALLS_THAT_WAIT))
        return self.trace.intervals(self.trace.where(("host_op", "runtime")) & waits)

    @cached_property
    def gaps(self) -> Intervals:
        """When the device rests within the steady steps."""
        return idle_gaps(self.trace, self.breakdown.steady)

    @cached_property
    def launches(self) -> Launches:
        """How the kernels of the steady steps came to the device."""
        return launches(self.trace, self.breakdown.steady)

    @cached_property
    def idle(self) -> dict[str, int]:
        """Nanoseconds of the steady steps' idle device time by cause (device.idle.CAUSES)."""
        return idle_by_cause(self.trace, self.breakdown.steady, self.waiting)

    @cached_property
    def exposed(self) -> Exposed:
        """The steady steps' exposed communication by what could make it shorter."""
        return exposed(self.trace, self.breakdown.steady, self.output)

    @cached_property
    def kernels(self) -> KernelTable | None:
        """The table of kernels beside the timeline, or None where there is none."""
        return kernel_table(self.output) if self.output else None

    @cached_property
    def python_calls(self) -> int:
        """How many calls of Python functions were recorded."""
        return self.trace.count("python")

    @cached_property
    def memory(self) -> MemoryTables | None:
        """What the allocator held, by the tables beside the timeline, or None where they say nothing of it."""
        return memory_tables(self.output) if self.output else None

    def ms(self, nanoseconds: float) -> float:
        return round(nanoseconds / 1e6, 3)

    def step_facts(self) -> dict[str, object]:
        """As a report's facts tell it: the numbers of the steps looked at and of those that count, and how many steps
        the profile holds."""
        return {
            "steps": [step.number for step in self.breakdown.steps],
            "recorded_steps": self.trace.recorded_steps,
            "steady_steps": [step.number for step in self.breakdown.steady],
        }


def load_profile(path: str | os.PathLike[str], steps: str = ALL) -> Profile:
    """The Profile at the path, with the record that `profile` left there; readers.read says what it may be, and what
    `steps` are."""
    found = _located(Path(path))
    told = told_steps(found) if found.is_dir() else {}
    output = output_of(found) if found.is_dir() else found.parent if found.name == TIMELINE else None
    return replace(Profile.of(read(found, steps), _record(found, Path(path)), told), output=output)


def _located(path: Path) -> Path:
    try:
        return locate(path)
    except WorkbookError as nothing:
        if nothing.key == "profiling.no_profile" and _record(path, path / DATA).get("status") == "running":
            raise WorkbookError("profiling.killed", path=str(path)) from nothing
        raise


def tier_of(trace: Trace) -> str:
    """What a trace alone tells. An NPU's folder without device events does not tell whether it was a real one."""
    if trace.simulated:
        return SIMULATED
    if trace.dialect == "ascend":
        return "npu" if trace.on_device else ""
    if trace.on_device:
        return "cuda"
    return "" if trace.about.get("deviceProperties") else "cpu"  # cards that ran nothing, or whose part is missing


def _record(*places: Path) -> dict[str, Any]:
    for folder in (above for place in places for above in (place, place.parent)):
        if (folder / RECORD).is_file():
            content = json.loads((folder / RECORD).read_text(encoding="utf-8"))
            return content if isinstance(content, dict) else {}
    return {}
