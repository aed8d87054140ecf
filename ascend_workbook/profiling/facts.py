"""What the rules judge: a trace, what was computed from it, and what is known of where it was taken."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.breakdown import Breakdown, break_down, idle_gaps
from ascend_workbook.profiling.causes.cause import Cause
from ascend_workbook.profiling.causes.counted import add_counted
from ascend_workbook.profiling.causes.engine import find_causes
from ascend_workbook.profiling.device.idle import Launches, idle_by_cause, summarise_launches
from ascend_workbook.profiling.device.roofline import Roofline, measure_roofline
from ascend_workbook.profiling.exposed import Exposed, measure_exposed
from ascend_workbook.profiling.intervals import EMPTY, Intervals
from ascend_workbook.profiling.operators import Operator, rank_operators
from ascend_workbook.profiling.ranks.collectives import read_metadata
from ascend_workbook.profiling.readers import DATA, exported, locate_profile, read_step_table, read_trace
from ascend_workbook.profiling.readers.ascend import TIMELINE, output_of
from ascend_workbook.profiling.readers.choice import ALL
from ascend_workbook.profiling.readers.counters import Counters, collect_counters, read_database_counters
from ascend_workbook.profiling.readers.database import find_database
from ascend_workbook.profiling.readers.gradients import (
    NO_LINKS,
    NO_NUMBERS,
    Links,
    Numbers,
    read_gradients,
    read_numbers,
)
from ascend_workbook.profiling.readers.lines import add_sampled_lines, read_calm_step, read_delays, without
from ascend_workbook.profiling.readers.tables import KernelTable, MemoryTables, read_kernel_table, read_memory_tables
from ascend_workbook.profiling.trace import Trace

SIMULATED = "npu-simulated"
#: Written by `profile` beside what it collected
RECORD = "collected.json"
#: In the place of a record that cannot be read: why
UNREAD = "unread"
#: cudaDeviceSynchronize, hipStreamSynchronize, AscendCL@aclrtSynchronizeStream; `.item()` and `.cpu()` call them
CALLS_THAT_WAIT = ("Synchronize", "aten::_local_scalar_dense")


@dataclass(frozen=True)
class Profile:
    """A trace and its breakdown. `tier` is empty where neither the record nor the trace tells it; `told` is what the
    profiler's own table says of each step (tables.step_times); `output` the folder in which its tables lie, `database`
    the database that it was exported to; `delays` when other programs had the cores that its process wanted;
    `calm_step_ns` what a step took that was not recorded, 0 where that is not known, as `calm_steps` of them tell;
    `gradients` which rows of backward
    belong to which of forward (n, 2), `numbers` which operators have which number in the order of forward."""

    trace: Trace
    breakdown: Breakdown
    operators: tuple[Operator, ...]
    tier: str
    record: dict[str, object]
    told: dict[int, dict[str, int]] = field(default_factory=dict)
    output: Path | None = None
    database: Path | None = None
    delays: Intervals = EMPTY
    calm_step_ns: float = 0.0
    calm_steps: int = 0
    gradients: Links = field(default_factory=lambda: NO_LINKS)
    numbers: Numbers = NO_NUMBERS

    @classmethod
    def from_trace(
        cls, trace: Trace, record: dict[str, object] | None = None, table_times: dict[int, dict[str, int]] | None = None
    ) -> Profile:
        """Make the Profile of a trace and its record; raises WorkbookError where no step can be used."""
        breakdown = break_down(trace)
        if not breakdown.steps:
            behind = trace.looked is not None and trace.looked.behind
            raise WorkbookError("profiling.too_far_behind" if behind else "profiling.no_steps", path=trace.source)
        ranked = rank_operators(trace, [step.number for step in breakdown.steady])
        record = record or {}
        tier = tier_of(trace) if trace.simulated else str(record.get("tier") or tier_of(trace))
        return cls(trace, breakdown, tuple(ranked), tier, record, table_times or {})

    @property
    def conclusive(self) -> bool:
        """Return whether the profile tells where time goes. Host operators of an accelerator only hand out work:
        without its own times theirs mean nothing. On a CPU, and on the simulated NPU, they are the work. Steps in which
        nothing was recorded tell nothing."""
        return bool(self.operators) and (self.trace.on_device or self.tier in ("cpu", SIMULATED))

    @property
    def simulated(self) -> bool:
        """Return whether the device's times, where there are any, are those of the CPU's kernels."""
        return self.tier == SIMULATED and not self.estimated

    @property
    def estimated(self) -> bool:
        """Return whether its times were estimated from shapes, not measured on any device."""
        return bool(self.record.get("estimated"))

    @property
    def device_times(self) -> bool:
        """Return whether times of a real accelerator are in it, or estimates of them."""
        return self.trace.on_device and not self.simulated

    @cached_property
    def waiting(self) -> Intervals:
        """Return when the host waits for the device: synchronising calls, and reading a value such as loss.item()."""
        waits = self.trace.mask_of_names(lambda name: any(call in name for call in CALLS_THAT_WAIT))
        return self.trace.intervals_of(self.trace.where(("host_op", "runtime")) & waits)

    @cached_property
    def gaps(self) -> Intervals:
        """Return when the device rests within the steady steps."""
        return idle_gaps(self.trace, self.breakdown.steady)

    @cached_property
    def launches(self) -> Launches:
        """Return how the kernels of the steady steps came to the device."""
        return summarise_launches(self.trace, self.breakdown.steady)

    @cached_property
    def idle(self) -> dict[str, int]:
        """Return the nanoseconds of the steady steps' idle device time by cause (device.idle.CAUSES)."""
        return idle_by_cause(self.trace, self.breakdown.steady, self.waiting)

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """Return why the steps are not shorter, the dearest cause first; on a simulated NPU without what other programs
        took of the CPU, which is all there is."""
        calm = self.calm if self.simulated else self
        return add_counted(calm, find_causes(calm))

    @cached_property
    def calm(self) -> Profile:
        """Return this profile as it would be on a machine that does nothing else."""
        if not self.delays.start_ns.size:
            return self
        calm = Profile.from_trace(without(self.trace, self.delays), self.record, self.told)
        calm = replace(calm, calm_step_ns=self.calm_step_ns, calm_steps=self.calm_steps)
        return replace(calm, gradients=self.gradients, numbers=self.numbers)

    @cached_property
    def exposed(self) -> Exposed:
        """Return the steady steps' exposed communication by what could make it shorter."""
        return measure_exposed(self.trace, self.breakdown.steady)

    @cached_property
    def kernels(self) -> KernelTable | None:
        """Return the table of kernels beside the timeline, else in the database, or None where there is none."""
        table = read_kernel_table(self.output) if self.output else None
        return table or (exported.read_kernels(self.database) if self.database else None)

    @cached_property
    def memory(self) -> MemoryTables | None:
        """Return what the allocator held, by the tables beside the timeline, else by the database, or None where they
        say nothing of it."""
        return read_memory(self.output, self.database)

    @cached_property
    def counters(self) -> Counters:
        """Return what the device's counters tell, by its database or the timeline, if any."""
        if self.database is not None and Path(self.trace.source) == self.database:
            return read_database_counters(self.database)
        return collect_counters(self.trace.counters)

    @cached_property
    def roofline(self) -> Roofline | None:
        """Return how near the kernels come to what the chip can do, None where the profile does not tell it."""
        return measure_roofline(self.kernels, str(self.trace.about.get("chip") or self.record.get("device") or ""))

    @cached_property
    def metadata(self) -> dict[str, object]:
        """Return what the profiler noted of the run beside its tables: its environment, its groups."""
        files = self.output or (self.database.parent if self.database else None)
        return read_metadata(files.parent, self.database) if files else {}

    def to_ms(self, nanoseconds: float) -> float:
        """Convert nanoseconds to milliseconds, rounded to the microsecond."""
        return round(nanoseconds / 1e6, 3)

    def step_facts(self) -> dict[str, object]:
        """Return for a report's facts the numbers of the steps looked at and of those that count, and how many steps
        the profile holds."""
        return {
            "steps": [step.number for step in self.breakdown.steps],
            "recorded_steps": self.trace.recorded_steps,
            "steady_steps": [step.number for step in self.breakdown.steady],
        }


def read_memory(output: Path | None, database: Path | None) -> MemoryTables | None:
    """Return what the allocator held, by the tables of the output folder, else by the database, or None where they say
    nothing of it. Raises WorkbookError, naming file and place, for what cannot be read."""
    memory = read_memory_tables(output) if output else None
    return memory or (exported.read_memory(database) if database else None)


def load_profile(path: str | os.PathLike[str], steps: str = ALL) -> Profile:
    """Load the Profile at the path, with the record that `profile` left there; readers.read says what it may be, and
    what `steps` are. Raises WorkbookError for none, or one whose recording was killed."""
    try:
        profile_path = locate_profile(Path(path))
    except WorkbookError as nothing:
        if nothing.key != "profiling.no_profile":
            raise
        if _read_record(Path(path), Path(path) / DATA).get("status") == "running":
            raise WorkbookError("profiling.killed", path=str(Path(path))) from nothing
        raise
    table_times = read_step_table(profile_path) if profile_path.is_dir() else {}
    beside = profile_path.parent if profile_path.name == TIMELINE else None
    output = output_of(profile_path) if profile_path.is_dir() else beside
    record = _read_record(profile_path, Path(path))
    trace = add_sampled_lines(read_trace(profile_path, steps), profile_path)
    profile = Profile.from_trace(trace, record, table_times)
    database = find_database(profile_path) if profile_path.is_dir() else None
    profile = replace(profile, output=output, database=database, delays=read_delays(profile_path))
    if not profile.simulated:
        return profile
    calm_step_ns, calm_steps = read_calm_step(profile_path)
    profile = replace(profile, calm_step_ns=calm_step_ns, calm_steps=calm_steps)
    return replace(profile, gradients=read_gradients(trace), numbers=read_numbers(trace))


def tier_of(trace: Trace) -> str:
    """Return the tier that a trace alone tells: not whether an NPU was a real one, where it has no device events."""
    if trace.simulated:
        return SIMULATED
    if trace.dialect == "ascend":
        return "npu" if trace.on_device else ""
    if trace.on_device:
        return "npu" if trace.about.get("npu") else "cuda"
    # launches, cards, or events of a device that is not known here: its part is missing, and a CPU's is no answer
    devices = trace.count_events("runtime") or trace.about.get("deviceProperties") or "foreign_device" in trace.left_out
    return "cpu" if trace.count_events("host_op") and not devices else ""


def _read_record(*places: Path) -> dict[str, object]:
    """Read the record of the recording at or above one of these places, empty where there is none. Of a damaged one it
    holds UNREAD alone: the trace is read all the same."""
    for folder in (above for place in places for above in (place, place.parent)):
        if (folder / RECORD).is_file():
            try:
                return dict(json.loads((folder / RECORD).read_text(encoding="utf-8")).items())
            except (OSError, ValueError, AttributeError, RecursionError) as error:
                why = f"{type(error).__name__}: {error}"
                return {UNREAD: Sentence("profiling.unreadable", path=str(folder / RECORD), error=why)}
    return {}
