"""What one rank tells of itself, small enough to travel between processes as JSON: its steps, links and collectives."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np

from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.operators import CALL_NUMBER
from ascend_workbook.profiling.trace import Looked

UNTOLD = -1
#: hcom_allReduce__719_0_1: the last digits of the group's number, the call's in the group, the stream's
HCOM = re.compile(r"hcom_(\w+?)_*_(\d+)_(\d+)_\d+$")
#: Members of these finish together, so their ends tell how far two clocks are apart
TOGETHER = ("allreduce", "allgather", "reducescatter", "alltoall", "barrier")
PAIRWISE = ("send", "recv", "receive")


@dataclass(frozen=True)
class Calls:
    """Columns (n,). `key` is the collective's among all ranks, `group` its members'; `step` the profiler's number
    or -1. `told_wait_ns`: how long the rank waited for one peer, by the profile itself, `peer` that one's rank in the
    group, `next_wait_ns` the same for the peer waited for second longest; -1 where it is not told. `sent_bytes`: the
    size of the data, or -1."""

    key: list[str]
    kind: list[str]
    group: list[str]
    step: I64
    start_ns: I64
    duration_ns: I64
    told_wait_ns: I64
    peer: I64
    next_wait_ns: I64
    sent_bytes: I64

    def __post_init__(self) -> None:
        if len({len(column) for column in vars(self).values()}) != 1:
            raise ValueError("the columns of calls differ in length")

    def __len__(self) -> int:
        return len(self.key)

    @property
    def end_ns(self) -> I64:
        return self.start_ns + self.duration_ns

    def of_steps(self, numbers: Collection[int]) -> Calls:
        """Return the calls of the steps with these numbers."""
        rows = np.flatnonzero(np.isin(self.step, list(numbers))).tolist()
        return Calls.from_dict({name: [column[row] for row in rows] for name, column in self.to_dict().items()})

    def to_dict(self) -> dict[str, list[Any]]:
        return {name: column if isinstance(column, list) else column.tolist() for name, column in vars(self).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Sequence[Any]]) -> Calls:
        texts = ("key", "kind", "group")
        columns: dict[str, Any] = {n: value if n in texts else np.array(value, np.int64) for n, value in data.items()}
        return cls(**columns)


@dataclass(frozen=True)
class Call:
    """One collective as a reader found it; `key` need not be unique: the first and the second are told apart."""

    key: str
    kind: str
    group: str
    step: int
    start_ns: int
    duration_ns: int
    told_wait_ns: int = UNTOLD
    peer: int = UNTOLD
    next_wait_ns: int = UNTOLD
    sent_bytes: int = UNTOLD


def collect_call_columns(calls: Iterable[Call]) -> Calls:
    """Return the calls as columns, in order of time."""
    ordered = sorted(calls, key=lambda call: call.start_ns)
    rows_of: dict[str, Any] = {name: [*map(attrgetter(name), ordered)] for name in Call.__dataclass_fields__}
    rows_of["key"] = number_repeated_keys(rows_of["key"])
    return Calls.from_dict(rows_of)


def number_repeated_keys(keys: Sequence[str]) -> list[str]:
    """Return the keys with a number added to each one that comes again: the first call keeps its key."""
    counts: Counter[str] = Counter()
    numbered_keys = []
    for key in keys:
        numbered_keys.append(f"{key} ~{counts[key]}" if counts[key] else key)
        counts[key] += 1
    return numbered_keys


def kind_of(name: str) -> str:
    """Return the kind in a collective's name: `hcom_allReduce__586_0_1` -> allReduce,
    `ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)` -> AllReduce, `gloo:all_reduce` -> all_reduce."""
    hcom = HCOM.match(name)
    if hcom:
        return hcom.group(1).rstrip("_")
    name = CALL_NUMBER.sub("", name.partition("(")[0])
    if name.startswith(("nccl", "rccl")) and "_" in name:
        return name.split("_")[1]
    return name.partition(":")[2] or name


def group_in(name: str) -> str:
    """Return the group's last digits in an hcom name, or an empty text."""
    hcom = HCOM.match(name)
    return hcom.group(2) if hcom else ""


def finishes_together(kind: str) -> bool:
    """Return whether the members of a collective of this kind finish together."""
    return kind.lower().replace("_", "").startswith(TOGETHER)


def is_pairwise(kind: str) -> bool:
    """Return whether a collective of this kind is sent from one rank to another, as pipeline stages do."""
    return any(word in kind.lower() for word in PAIRWISE)


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
    times are those of the profiler's tables. `simulated`: its times are the CPU's. `shapes`: calls a step of operators
    with their shapes (shapes.count_shapes)."""

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
    shapes: dict[str, float] = field(default_factory=dict)

    def per_step_ns(self, part: str) -> float:
        """Return the mean of a part over the steps; `total`: of the whole, `own`: without exposed communication."""
        wholes = {"total": "total_ns", "own": "own_ns"}
        spent = [int(getattr(step, wholes[part])) if part in wholes else step.parts_ns[part] for step in self.steps]
        return sum(spent) / max(1, len(spent))

    def to_dict(self) -> dict[str, object]:
        return {**asdict(self), "calls": self.calls.to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RankFacts:
        lists = {"steps": StepParts, "links": Link, "packets": Packets}
        parts = {name: tuple(kind(**entry) for entry in data[name]) for name, kind in lists.items()}
        groups = tuple(Group(group["name"], tuple(group["members"])) for group in data["groups"])
        looked = Looked(**data["looked"]) if data["looked"] else None
        return cls(**{**data, **parts, "groups": groups, "looked": looked, "calls": Calls.from_dict(data["calls"])})
