"""Reads what the simulator recorded between aclprofStart and aclprofStop. Times become epoch nanoseconds."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FACTS = "simulated.json"
TASKS = Path("host") / "data" / "simulated_tasks.jsonl"
#: What puts streams and the host in order, and has no times of its own
ORDERS = ("mark", "wait", "host_wait")
#: What stands where CANN names the engine that ran a kernel: here it was the host's CPU
CORE = "SIMULATED"


class NotSimulated(Exception):
    """The folder was not written by the simulator."""


@dataclass(frozen=True)
class Task:
    """One kernel, copy or collective; `called_ns` to `returned_ns` is its launch on the host.

    `number` counts the tasks of the profile from 1. `more` holds what only collectives have: group, rank, data_type,
    count, agreed_ns, traffic (a list of peer, sent, received in bytes, sent_ns, received_ns).
    """

    number: int
    kind: str
    name: str
    api: str
    device: int
    stream: int
    thread: int
    called_ns: int
    returned_ns: int
    start_ns: int
    end_ns: int
    input_shapes: str
    input_types: str
    output_shapes: str
    output_types: str
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns

    @property
    def type(self) -> str:
        """Return the operator without its overload (`aten::add.Tensor` -> `aten::add`), or a collective's operation."""
        if self.kind == "collective":
            return re.sub(r"_\d+_\d+_\d+$", "", self.name)
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class Profile:
    """The tasks of a PROF_ folder in the order in which they began, and who wrote it."""

    folder: Path
    pid: int
    device_name: str
    data_types: int
    devices: tuple[int, ...]
    tasks: tuple[Task, ...]

    def tasks_of(self, *kinds: str) -> list[Task]:
        return [task for task in self.tasks if task.kind in kinds]

    @property
    def detailed(self) -> bool:
        """Return whether types and shapes of operators are known: from level 1 on (ACL_PROF_TASK_TIME, acl_prof.h)."""
        return bool(self.data_types & 0x2)


def read_profile(folder: Path) -> Profile:
    """Return the profile of a PROF_ folder. Raises NotSimulated where the simulator did not write it."""
    if not (folder / FACTS).is_file():
        raise NotSimulated(f"{folder} holds no {FACTS}: this msprof reads only what the simulated NPU recorded")
    facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    shift_ns = facts["wall_ns"] - facts["raw_ns"]
    lines = (folder / TASKS).read_text(encoding="utf-8").splitlines() if (folder / TASKS).is_file() else []
    items = (item for item in map(json.loads, lines) if item["kind"] not in ORDERS)
    raw = sorted(items, key=lambda item: (item["start_ns"], item["end_ns"]))
    collectives: dict[str, int] = {}
    tasks = [_make_task(number, item, shift_ns, collectives) for number, item in enumerate(raw, start=1)]
    devices = {int(item.name.partition("_")[2]) for item in folder.glob("device_*")} | {task.device for task in tasks}
    return Profile(folder, facts["pid"], facts["device"], facts["data_types"], tuple(sorted(devices)), tuple(tasks))


_TIMES = ("called_ns", "returned_ns", "start_ns", "end_ns", "agreed_ns")
_MORE = ("group", "rank", "data_type", "count", "agreed_ns", "traffic", "turned")


def _make_task(number: int, fields: dict[str, Any], shift_ns: int, collectives: dict[str, int]) -> Task:
    fields = {name: value + shift_ns if name in _TIMES and value else value for name, value in fields.items()}
    more = {name: fields.pop(name) for name in _MORE if name in fields}
    if fields["kind"] == "collective":
        group = str(group_number(more["group"]))
        collectives[group] = collectives.get(group, -1) + 1
        fields["name"] = f"{fields['name']}_{group[-3:]}_{collectives[group]}_1"
    return Task(number=number, more=more, **fields)


def group_number(name: str) -> int:
    """The number that stands for a communicator's name in CANN's files, and that msprof-analyze works out again from
    the names in profiler_metadata.json: two 32-bit polynomial hashes side by side."""
    high = low = 0
    for letter in name:
        high = (high * 29 + ord(letter)) & 0xFFFFFFFF
        low = (low * 131 + ord(letter)) & 0xFFFFFFFF
    return high << 32 | low


def format_microseconds(ns: int) -> str:
    """Return the microseconds exactly: 1736408883704643212 -> `1736408883704643.212`."""
    return f"{ns // 1000}.{ns % 1000:03d}"
