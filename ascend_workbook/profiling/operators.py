"""What costs most: operators by the time that is theirs alone, over the steady steps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.attribution import nest_by_lane
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.trace import KINDS, ON_DEVICE, Trace

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


def rank_operators(trace: Trace, numbers: Iterable[int]) -> list[Operator]:
    """Return these steps' operators, the costliest first, equal ones by name; without a device by self time."""
    looked_at = trace.in_steps(set(numbers))
    rows = np.flatnonzero(looked_at & trace.where(ON_DEVICE if trace.on_device else ("host_op",)))
    kind = trace.kind[rows]
    if not trace.on_device:
        return _sum_costs(trace, _Costs(rows, kind, host_self_ns(trace)[rows]))
    by = trace.launched_by[rows]  # kernels and copies go to whoever launched them, collectives to themselves
    call = np.where((by >= 0) & (kind != COMMUNICATION), by, rows)
    return _sum_costs(trace, _Costs(call, kind, trace.duration_ns[rows]))


def host_self_ns(trace: Trace) -> I64:
    """Return for each row the self time of the host operator that it is, in nanoseconds; 0 for all else: (n,)."""
    hosts = np.flatnonzero(trace.where(("host_op",)))
    own = np.zeros(len(trace), np.int64)
    threads = nest_by_lane(trace.lane[hosts], trace.start_ns[hosts], trace.duration_ns[hosts], hosts)
    for thread in threads.values():
        own[thread.rows] = thread.self_ns()
    return own


def _sum_costs(trace: Trace, costs: _Costs) -> list[Operator]:
    """Sum the costs by name and kind into operators, the costliest first."""
    names, name = _name_calls(trace, costs)
    pairs, group = np.unique(name * np.int64(len(KINDS)) + costs.kind, return_inverse=True)
    self_ns = np.zeros(pairs.size, np.int64)
    np.add.at(self_ns, group, costs.spent_ns)
    calls = np.bincount(np.unique(group * np.int64(len(trace)) + costs.call) // max(1, len(trace)))
    shapes = map(trace.shapes.__getitem__, _find_costliest(trace.shape[costs.call], costs, group))
    dtypes = map(trace.dtypes.__getitem__, _find_costliest(trace.dtype[costs.call], costs, group))
    rows = _find_costliest(costs.call, costs, group)
    totals = [
        Operator(names[entry // len(KINDS)], KINDS[entry % len(KINDS)], count, spent, shape, dtype, row)
        for entry, count, spent, shape, dtype, row in zip(
            pairs.tolist(), calls.tolist(), self_ns.tolist(), shapes, dtypes, rows
        )
    ]
    return sorted(totals, key=lambda entry: (-entry.self_ns, entry.name))


def _name_calls(trace: Trace, costs: _Costs) -> tuple[list[str], I64]:
    """Return all names of the calls, and for each call which is its own; collectives without their numbers."""
    numbers = {text: at for at, text in enumerate(trace.names)}
    name = trace.name[costs.call].astype(np.int64)
    collective = costs.kind == COMMUNICATION
    short = np.arange(len(numbers))
    for at in np.unique(name[collective]).tolist():
        text = CALL_NUMBER.sub("", trace.names[at].partition("(")[0])
        short[at] = numbers.setdefault(text, len(numbers))
    name[collective] = short[name[collective]]
    return list(numbers), name


def _find_costliest(value: npt.NDArray[np.integer], costs: _Costs, group: Rows) -> list[int]:
    """Return for each group the value (a column beside the costs) on which most was spent, of equal ones the first."""
    values = np.int64(value.max(initial=0)) + 1
    pairs, first, at = np.unique(group * values + value, return_index=True, return_inverse=True)
    spent = np.zeros(pairs.size, np.int64)
    np.add.at(spent, at, costs.spent_ns)
    best = pairs[np.lexsort((first, -spent, pairs // values))]
    at_first = np.unique(best // values, return_index=True)[1]
    costliest: list[int] = (best[at_first] % values).tolist()
    return costliest
