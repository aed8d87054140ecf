"""What costs most: operators by the time that is theirs alone, over the steady steps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from helpers.profiling.attribution import nestings
from helpers.profiling.trace import KINDS, Trace

MEASURED = ("compute", "communication", "copy")
Rows = npt.NDArray[np.intp]
#: hcom_allReduce__719_0_1 -> hcom_allReduce: the numbers are the group's and the call's. NCCL's kernels carry
#: their argument types in brackets, which say nothing either.
CALL_NUMBER = re.compile(r"_+\d+(_\d+)*$")


@dataclass(frozen=True)
class Operator:
    """One operator over the steps looked at. `self_ns`: on a device what its kernels take; on a CPU its own time
    without that of the operators it calls. `shape`: the input shapes that cost most, empty where not recorded."""

    name: str
    kind: str
    calls: int
    self_ns: int
    shape: str


def operators(trace: Trace, numbers: Iterable[int]) -> list[Operator]:
    """Operators of the steps with these numbers, the costliest first; equal ones by name."""
    wanted = {at for at, step in enumerate(trace.steps) if step.number in set(numbers)}
    rows = np.flatnonzero(np.isin(trace.step, list(wanted)))
    costs = _device(trace, rows) if trace.on_device else _host(trace, rows)
    found = [_sum(trace, name, kind, cost) for (name, kind), cost in costs.items()]
    return sorted(found, key=lambda one: (-one.self_ns, one.name))


def _sum(trace: Trace, name: str, kind: str, cost: dict[int, int]) -> Operator:
    by_shape: dict[str, int] = {}
    for row, spent in cost.items():
        text = trace.shapes[trace.shape[row]]
        by_shape[text] = by_shape.get(text, 0) + spent
    return Operator(name, kind, len(cost), sum(cost.values()), max(by_shape, key=lambda text: by_shape[text]))


def _device(trace: Trace, rows: Rows) -> dict[tuple[str, str], dict[int, int]]:
    """(operator, kind) -> {row that counts as the call: nanoseconds}; kernels go to whoever launched them."""
    costs: dict[tuple[str, str], dict[int, int]] = {}
    for row in rows.tolist():
        kind = KINDS[trace.kind[row]]
        if kind in MEASURED:
            by = int(trace.launched_by[row])
            call = by if by >= 0 and kind != "communication" else row
            cost = costs.setdefault((_name(trace, call, kind), kind), {})
            cost[call] = cost.get(call, 0) + int(trace.duration_ns[row])
    return costs


def _name(trace: Trace, row: int, kind: str) -> str:
    name = trace.names[trace.name[row]]
    return CALL_NUMBER.sub("", name.partition("(")[0]) if kind == "communication" else name


def _host(trace: Trace, rows: Rows) -> dict[tuple[str, str], dict[int, int]]:
    """The same for operators on the host, by self time."""
    own = host_self_ns(trace)
    costs: dict[tuple[str, str], dict[int, int]] = {}
    for row in rows.tolist():
        if row in own:
            costs.setdefault((trace.names[trace.name[row]], "host_op"), {})[row] = own[row]
    return costs


def host_self_ns(trace: Trace) -> dict[int, int]:
    """Row of a host operator -> its self time in nanoseconds."""
    hosts = np.flatnonzero(trace.where(("host_op",)))
    own: dict[int, int] = {}
    threads = nestings(trace.lane[hosts], trace.start_ns[hosts], trace.duration_ns[hosts], hosts)
    for thread in threads.values():
        own.update(thread.self_ns())
    return own
