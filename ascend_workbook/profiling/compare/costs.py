"""One side of a comparison: what a step costs, in pieces that add up to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.breakdown import PARTS
from ascend_workbook.profiling.compare.scopes import Scopes, find_scopes, own_name
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.operators import MEASURED, host_self_ns
from ascend_workbook.profiling.trace import KINDS, Trace

#: Rows that are no operator's
LOADING, FREE, HIDDEN, REST = "row.loading", "row.free", "row.hidden", "row.rest"


@dataclass
class Cost:
    """Of one name a step: calls, nanoseconds, and the shapes (text -> nanoseconds)."""

    calls: float
    ns: float
    shapes: dict[str, float]

    def add_spent(self, calls: float, ns: float, shape: str = "") -> None:
        """Add calls and nanoseconds to the cost, the time also to its shape."""
        self.calls += calls
        self.ns += ns
        if shape:
            self.shapes[shape] = self.shapes.get(shape, 0.0) + ns


Costs = dict[str, Cost]


@dataclass(frozen=True)
class Side:
    """Of a profile, nanoseconds of its mean step. `parts`, `operators` and `modules` each add up to `step_ns`: what
    runs at the same time counts for each of its operators, and `row.hidden` takes it off again. `row.rest` is what
    the operators do not explain. `module_kind`: `modules`, `marks` or empty where neither was recorded."""

    profile: Profile
    step_ns: float
    parts: dict[str, float]
    operators: Costs
    modules: Costs
    module_kind: str


def compute_side(profile: Profile) -> Side:
    """Compute the costs of the steady steps, each in the measure that makes them add up to the mean step."""
    trace, breakdown = profile.trace, profile.breakdown
    parts = {part: breakdown.per_step_ns(part) for part in PARTS}
    total = sum(step.total_ns for step in breakdown.steady)
    scale = breakdown.step_ns / total if total else 0.0
    steps = len(breakdown.steady)
    event_scopes = find_scopes(trace)
    pieces = list(_split_pieces(profile, event_scopes))
    operators, modules = (_sum_pieces(pieces, by, scale, steps) for by in (0, 1))
    busy = parts["computing"] + parts["communication"] + parts["copy"]
    hidden = _hidden_ns(profile, event_scopes) * scale
    for costs in (operators, modules):
        spent = sum(cost.ns for cost in costs.values())
        for name, ns in (
            (LOADING, parts["loading"]),
            (FREE, parts["free"]),
            (HIDDEN, -hidden),
            (REST, busy - (spent - hidden)),
        ):
            costs[name] = Cost(0.0, ns, {})
    return Side(profile, breakdown.step_ns, parts, operators, modules, _module_kind(trace, event_scopes))


Piece = tuple[str, str, int, int, str]


def _split_pieces(profile: Profile, event_scopes: Scopes) -> Iterator[Piece]:
    """Return (operator, module, call, nanoseconds, shape) of everything measured in the steady steps; `call`: the row
    that counts as one call and tells its shape, that of the operator the script called, whatever it called inside."""
    trace = profile.trace
    for row, by, ns in _list_measured(profile, event_scopes):
        kind = KINDS[trace.kind[row]]
        scope = event_scopes.operator[by] if by >= 0 and kind != "communication" else 0
        operator = (
            event_scopes.names[scope]
            if scope
            else own_name(trace.names[trace.name[by if by >= 0 and kind == "compute" else row]], kind)
        )
        module = event_scopes.names[event_scopes.module[by]] if by >= 0 else ""
        call = int(event_scopes.call[by]) if scope else by if by >= 0 else row
        yield operator, module, call, ns, trace.shapes[trace.shape[call]]


def _list_measured(profile: Profile, event_scopes: Scopes) -> Iterator[tuple[int, int, int]]:
    """Return (row, row of the operator it counts for or -1, nanoseconds) of everything measured."""
    trace = profile.trace
    wanted = _steady_rows(profile)
    if profile.breakdown.on_device:
        rows = np.flatnonzero(wanted & trace.where(MEASURED))
        yield from zip(rows.tolist(), trace.launched_by[rows].tolist(), trace.duration_ns[rows].tolist())
        return
    own = host_self_ns(trace)
    rows = np.flatnonzero(wanted & trace.where(("host_op",)) & (event_scopes.loading == 0))
    yield from ((row, row, spent) for row, spent in zip(rows.tolist(), np.maximum(own[rows], 0).tolist()))


def _steady_rows(profile: Profile) -> npt.NDArray[np.bool_]:
    """Return the mask of the events in the steady steps."""
    return profile.trace.in_steps({step.number for step in profile.breakdown.steady})


def _hidden_ns(profile: Profile, event_scopes: Scopes) -> int:
    """Return how much of what was measured went on at the same time as something else that was."""
    trace, wanted = profile.trace, _steady_rows(profile)
    if profile.breakdown.on_device:
        rows = wanted & trace.where(MEASURED)
        return int(trace.duration_ns[rows].sum()) - trace.intervals_of(rows).length_ns
    rows = wanted & trace.where(("host_op",)) & (event_scopes.loading == 0)
    lanes = [trace.intervals_of(rows & (trace.lane == lane)).length_ns for lane in np.unique(trace.lane[rows]).tolist()]
    return sum(lanes) - trace.intervals_of(rows).length_ns


def _sum_pieces(pieces: list[Piece], by: int, scale: float, steps: int) -> Costs:
    """Sum the pieces by operator (`by` 0) or module (1), a step."""
    costs: Costs = defaultdict(lambda: Cost(0.0, 0.0, {}))
    calls: set[tuple[str, int]] = set()
    for piece in pieces:
        name, call = str(piece[by]), piece[2]
        fresh = (name, call) not in calls
        calls.add((name, call))
        costs[name].add_spent(fresh / steps, piece[3] * scale, piece[4])
    return dict(costs)


def _module_kind(trace: Trace, event_scopes: Scopes) -> str:
    """Return whether modules, marks or neither were recorded."""
    if any(name.startswith("nn.Module: ") for name in trace.names):
        return "modules"
    return "marks" if event_scopes.module.any() else ""
