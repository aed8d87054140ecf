"""One side of a comparison: what a step costs, in pieces that add up to it.

An operator is held against the other side under the name that the script called, not what a device made of it:
`aten::conv2d` launches cuDNN's kernels on one device and `aclnnConvolution` on another; both are its time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.attribution import nest_by_lane
from ascend_workbook.profiling.breakdown import PARTS
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.operators import host_self_ns
from ascend_workbook.profiling.trace import I32, KINDS, ON_DEVICE, Trace

MODULE, OPTIMIZER = "nn.Module: ", "Optimizer."
ENGINE = "autograd::engine::evaluate_function: "
#: What only holds operators: `AddmmBackward0`, `torch::autograd::AccumulateGrad`, `NpuConvolutionBackward0`
HOLDERS = re.compile(r"(^torch::autograd::|^autograd::|Backward\d*$)")
#: The library that computes it, written into the operator's name: `aten::cudnn_convolution_backward`
LIBRARY = re.compile(r"^(?:aten|npu)::(?:cudnn|miopen|mkldnn|slow|thnn|npu)_(conv\w*|batch_norm\w*)$")
SAME = {"aten::batch_norm_backward": "aten::native_batch_norm_backward"}
NAMESPACED = re.compile(r"^\w+::\w")
COLLECTIVES = (
    ("allreduce", "all_reduce"),
    ("allgather", "all_gather"),
    ("reducescatter", "reduce_scatter"),
    ("alltoall", "all_to_all"),
    ("broadcast", "broadcast"),
    ("sendrecv", "send_receive"),
    ("send", "send"),
    ("receive", "receive"),
    ("recv", "receive"),
    ("reduce", "reduce"),
    ("scatter", "scatter"),
    ("gather", "gather"),
)


class Scopes(NamedTuple):
    """For each event (n,): the operator it counts for and its module, as places in `names` (0: none); `call`, the row
    of that operator, is one call of the script's (-1: none)."""

    operator: I32
    call: I32
    module: I32
    loading: I32
    names: list[str]


def find_scopes(trace: Trace) -> Scopes:
    """Find for every host operator the outermost operator around it that the script called, or the optimizer's step,
    and the innermost module around it (where modules were not recorded: the innermost mark of the script's own)."""
    marks = [name.startswith((OPTIMIZER, MODULE)) for name in trace.names]
    modules = any(name.startswith(MODULE) for name in trace.names)
    marked = np.array(marks or [False])[trace.name] if len(trace) else np.zeros(0, np.bool_)
    wanted = trace.where(("host_op", "loading")) | (trace.where(("annotation", "python")) & marked)
    wanted |= trace.where(("annotation",)) & (not modules)
    every = np.flatnonzero(wanted)
    place: dict[str, int] = {"": 0}
    columns = np.zeros((4, len(trace)), np.int32)  # operator, call, module, loading
    columns[1] = -1
    openings = [_scope_of_name(name) for name in trace.names]
    loads, annotates = (KINDS.index(kind) for kind in ("loading", "annotation"))
    for thread in nest_by_lane(trace.lane[every], trace.start_ns[every], trace.duration_ns[every], every).values():
        scopes: list[tuple[int, int, int, int]] = []
        for row, parent in zip(thread.rows.tolist(), thread.parent.tolist()):
            operator, call, module, loading = scopes[parent] if parent >= 0 else (0, -1, 0, 0)
            name, opened = openings[trace.name[row]]
            kind = trace.kind[row]
            if name and not operator:
                operator, call = place.setdefault(name, len(place)), row
            if not modules and kind == annotates and name != OPTIMIZER[:-1]:
                opened = opened or trace.names[trace.name[row]]
            if opened:
                module = place.setdefault(opened, len(place))
            scopes.append((operator, call, module, int(loading or kind == loads)))
        columns[:, thread.rows] = np.array(scopes, np.int32).T
    return Scopes(columns[0], columns[1], columns[2], columns[3], list(place))


def _scope_of_name(name: str) -> tuple[str, str]:
    """Return (operator, module) that an event of this name opens; empty where it opens none."""
    if name.startswith(MODULE):
        return "", name[len(MODULE) :]
    if name.startswith(OPTIMIZER):
        return OPTIMIZER[:-1] if ".step#" in name else "", ""
    plain = name[len(ENGINE) :] if name.startswith(ENGINE) else name
    if HOLDERS.search(plain) or not NAMESPACED.match(plain):
        return "", ""
    plain = LIBRARY.sub(r"aten::\1", plain)
    return SAME.get(plain, plain), ""


def own_name(name: str, kind: str) -> str:
    """Return the name of what no operator launched, or of an operator that stands in no other."""
    if kind == "communication":
        plain = re.sub(r"[^a-z]", "", name.lower().partition("(")[0])
        return next((f"collective {label}" for sign, label in COLLECTIVES if sign in plain), name)
    if kind == "copy":
        direction = re.search(r"(HtoD|DtoH|DtoD|HtoH|memset)", name, re.IGNORECASE)
        return f"copy {direction[1]}" if direction else "copy"
    return name[len(ENGINE) :] if name.startswith(ENGINE) else name


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
    total = breakdown.total_ns
    scale = breakdown.step_ns / total if total else 0.0
    steps = len(breakdown.steady)
    event_scopes = find_scopes(trace)
    pieces = list(_split_pieces(profile, event_scopes))
    operators, modules = (_sum_pieces(pieces, by, scale, steps) for by in (0, 1))
    busy = parts["computing"] + parts["communication"] + parts["copy"]
    hidden = _hidden_ns(profile, event_scopes) * scale
    for costs in (operators, modules):
        spent = sum(cost.ns for cost in costs.values())
        others = {LOADING: parts["loading"], FREE: parts["free"], HIDDEN: -hidden, REST: busy - (spent - hidden)}
        costs.update((name, Cost(0.0, ns, {})) for name, ns in others.items())
    marks = "marks" if event_scopes.module.any() else ""
    kind = "modules" if any(name.startswith(MODULE) for name in trace.names) else marks
    return Side(profile, breakdown.step_ns, parts, operators, modules, kind)


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
        rows = np.flatnonzero(wanted & trace.where(ON_DEVICE))
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
        rows = wanted & trace.where(ON_DEVICE)
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
