"""What costs most: operators by the time that is theirs alone, over the steady steps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from helpers.profiling.attribution import nestings
from helpers.profiling.intervals import I64
from helpers.profiling.trace import KINDS, Trace

MEASURED = ("compute", "communication", "copy")
COMMUNICATION = KINDS.index("communication")
Rows = npt.NDArray[np.intp]
#: hcom_allReduce__719_0_1 -> hcom_allReduce: the numbers are the group's and the call's. NCCL's kernels carry
#: their argument types in brackets, which say nothing either.
CALL_NUMBER = re.compile(r"_+\d+(_\d+)*$")


@dataclass(frozen=True)
class Operator:
    """One operator over the steps looked at. `self_ns`: on a device what its kernels take; on a CPU its own time
    without that of the operators it calls. `shape`: the input shapes that cost most, `dtype` of the tensors likewise,
    empty where not recorded. `row`: its costliest call in the trace, -1 where none is known."""

    name: str
    kind: str
    calls: int
    self_ns: int
    shape: str
    dtype: str = ""
    row: int = -1


class _Costs(NamedTuple):
    """What was spent, columns (n,): `call`, the row that counts as the call; `kind` in KINDS; nanoseconds."""

    call: Rows
    kind: npt.NDArray[np.int8]
    spent_ns: I64


def operators(trace: Trace, numbers: Iterable[int]) -> list[Operator]:
    """Operators of the steps with these numbers, the costliest first; equal ones by name."""
    looked_at = trace.in_steps(set(numbers))
    return _sorted_sums(trace, (_device if trace.on_device else _host)(trace, looked_at))


def _device(trace: Trace, looked_at: npt.NDArray[np.bool_]) -> _Costs:
    """Kernels and copies go to whoever launched them, collectives to themselves."""
    rows = np.flatnonzero(looked_at & trace.where(MEASURED))
    by, kind = trace.launched_by[rows], trace.kind[rows]
    return _Costs(np.where((by >= 0) & (kind != COMMUNICATION), by, rows), kind, trace.duration_ns[rows])


def _host(trace: Trace, looked_at: npt.NDArray[np.bool_]) -> _Costs:
    """Operators on the host by self time."""
    rows = np.flatnonzero(looked_at & trace.where(("host_op",)))
    return _Costs(rows, trace.kind[rows], host_self_ns(trace)[rows])


def host_self_ns(trace: Trace) -> I64:
    """For each row the self time of the host operator that it is, in nanoseconds; 0 for all else: (n,)."""
    hosts = np.flatnonzero(trace.where(("host_op",)))
    own = np.zeros(len(trace), np.int64)
    threads = nestings(trace.lane[hosts], trace.start_ns[hosts], trace.duration_ns[hosts], hosts)
    for thread in threads.values():
        own[thread.rows] = thread.self_ns()
    return own


def _sorted_sums(trace: Trace, costs: _Costs) -> list[Operator]:
    names, name = _names(trace, costs)
    found, group = np.unique(name * np.int64(len(KINDS)) + costs.kind, return_inverse=True)
    self_ns = np.zeros(found.size, np.int64)
    np.add.at(self_ns, group, costs.spent_ns)
    calls = np.bincount(np.unique(group * np.int64(len(trace)) + costs.call) // max(1, len(trace)))
    shapes = _costliest(trace.shape[costs.call], costs, group)
    dtypes = _costliest(trace.dtype[costs.call], costs, group)
    rows = _costliest(costs.call, costs, group)
    made = [
        Operator(names[one // len(KINDS)], KINDS[one % len(KINDS)], count, spent, trace.shapes[shape],
                 trace.dtypes[dtype], row)
        for one, count, spent, shape, dtype, row in zip(found.tolist(), calls.tolist(), self_ns.tolist(), shapes,
                                                        dtypes, rows)
    ]  # fmt: skip
    return sorted(made, key=lambda one: (-one.self_ns, one.name))


def _names(trace: Trace, costs: _Costs) -> tuple[list[str], I64]:
    """The names of the calls: all there are, and for each call which; collectives without their numbers."""
    numbers = {text: at for at, text in enumerate(trace.names)}
    name = trace.name[costs.call].astype(np.int64)
    collective = costs.kind == COMMUNICATION
    short = np.arange(len(numbers))
    for at in np.unique(name[collective]).tolist():
        text = CALL_NUMBER.sub("", trace.names[at].partition("(")[0])
        short[at] = numbers.setdefault(text, len(numbers))
    name[collective] = short[name[collective]]
    return list(numbers), name


def _costliest(value: npt.NDArray[np.integer[Any]], costs: _Costs, group: Rows) -> list[int]:
    """For each group the value (a column beside the costs) on which most was spent, of equal ones the first."""
    values = np.int64(value.max(initial=0)) + 1
    found, first, at = np.unique(group * values + value, return_index=True, return_inverse=True)
    spent = np.zeros(found.size, np.int64)
    np.add.at(spent, at, costs.spent_ns)
    best = found[np.lexsort((first, -spent, found // values))]
    at_first = np.unique(best // values, return_index=True)[1]
    costliest: list[int] = (best[at_first] % values).tolist()
    return costliest
