"""What one rank tells of itself, small enough to travel between processes as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ascend_workbook.profiling.breakdown import PARTS
from ascend_workbook.profiling.ranks.calls import Calls
from ascend_workbook.profiling.trace import Looked


@dataclass(frozen=True)
class StepParts:
    """One step of a rank, nanoseconds. `parts_ns` by breakdown.PARTS; `bubble_ns`: what the profiler's own table calls
    a bubble, 0 where it has no such column."""

    number: int
    start_ns: int
    total_ns: int
    parts_ns: dict[str, int]
    bubble_ns: int = 0

    @property
    def own_ns(self) -> int:
        """Return the step without the communication that nothing hides: what this rank needs by itself."""
        return self.total_ns - self.parts_ns["communication"]


@dataclass(frozen=True)
class Link:
    """What went from one rank of a group to another, as the group counts its ranks. `transport`: HCCS, RDMA, PCIE, SIO,
    ...; `size_mb` in 10**6 bytes, over all steps that were recorded, and `time_ms` alike."""

    group: str
    operation: str
    source: int
    target: int
    transport: str
    size_mb: float
    time_ms: float

    @property
    def gb_per_s(self) -> float:
        return self.size_mb / self.time_ms


@dataclass(frozen=True)
class Packets:
    """How often packets of one size went over a transport, in how long altogether."""

    transport: str
    size_mb: float
    count: int
    time_ms: float


@dataclass(frozen=True)
class Group:
    """A process group by its name: the ranks in it in its own order."""

    name: str
    members: tuple[int, ...]


@dataclass(frozen=True)
class RankFacts:
    """One rank. `steps` are the steady ones, without a warm-up. `world_size` 0 and `host` empty where not told.
    `own_number` of a group: which of its members this rank is; `sizes`: at least how many members it has.
    `looked`: which of the profile's steps were looked at, None: all. `tables_only`: its timeline is not there, the
    times are those of the profiler's tables. `simulated`: its times are the CPU's."""

    rank: int
    source: str
    steps: tuple[StepParts, ...]
    calls: Calls
    tier: str = ""
    simulated: bool = False
    on_device: bool = True
    tables_only: bool = False
    world_size: int = 0
    host: str = ""
    groups: tuple[Group, ...] = ()
    own_number: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    packets: tuple[Packets, ...] = ()
    looked: Looked | None = None

    def per_step_ns(self, part: str) -> float:
        """Return the mean of a part over the steps; `total`: of the whole, `own`: without exposed communication."""
        return sum(self.of_step(step, part) for step in self.steps) / max(1, len(self.steps))

    @staticmethod
    def of_step(step: StepParts, part: str) -> int:
        """Return one part of one step, `total` or `own`."""
        if part in PARTS:
            return step.parts_ns[part]
        return step.own_ns if part == "own" else step.total_ns

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "calls": self.calls.to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RankFacts:
        lists = {"steps": StepParts, "groups": Group, "links": Link, "packets": Packets}
        parts = {name: tuple(kind(**_restore_tuples(entry)) for entry in data[name]) for name, kind in lists.items()}
        looked = Looked(**data["looked"]) if data["looked"] else None
        return cls(**{**data, **parts, "looked": looked, "calls": Calls.from_dict(data["calls"])})


def _restore_tuples(entry: dict[str, Any]) -> dict[str, Any]:
    """Turn the lists of a JSON entry back into tuples, which JSON does not have."""
    return {name: tuple(value) if name == "members" else value for name, value in entry.items()}
