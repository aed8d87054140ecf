"""Under which name an operator is held against the other side: the one that the script called, not what a device made
of it. `aten::conv2d` launches cuDNN's kernels on one device and `aclnnConvolution` on another; both are its time."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ascend_workbook.profiling.attribution import nest_by_lane
from ascend_workbook.profiling.trace import I32, KINDS, Trace

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
    rows = np.flatnonzero(wanted)
    place: dict[str, int] = {"": 0}
    operator, module, loading = (np.zeros(len(trace), np.int32) for _ in range(3))
    event_scopes = Scopes(operator, np.full(len(trace), -1, np.int32), module, loading, [])
    openings = [_scope_of_name(name) for name in trace.names]
    kinds = [KINDS.index(kind) for kind in ("loading", "annotation")]
    for thread in nest_by_lane(trace.lane[rows], trace.start_ns[rows], trace.duration_ns[rows], rows).values():
        _fill_thread(trace, thread.rows.tolist(), thread.parent.tolist(), event_scopes, openings, place, kinds, modules)
    event_scopes.names.extend(place)
    return event_scopes


def _fill_thread(
    trace: Trace,
    rows: list[int],
    parents: list[int],
    event_scopes: Scopes,
    openings: list[tuple[str, str]],
    place: dict[str, int],
    kinds: list[int],
    modules: bool,
) -> None:
    """Fill in the scopes of one thread's events."""
    operator, module, loading = [0] * len(rows), [0] * len(rows), [0] * len(rows)
    call = [-1] * len(rows)
    for at, (row, parent) in enumerate(zip(rows, parents)):
        above = (operator[parent], module[parent], loading[parent]) if parent >= 0 else (0, 0, 0)
        name, own_module = openings[trace.name[row]]
        kind = int(trace.kind[row])
        mark = "" if modules or kind != kinds[1] or name == OPTIMIZER[:-1] else trace.names[trace.name[row]]
        operator[at] = above[0] or (place.setdefault(name, len(place)) if name else 0)
        call[at] = call[parent] if above[0] else row if operator[at] else -1
        own = own_module or mark
        module[at] = place.setdefault(own, len(place)) if own else above[1]
        loading[at] = int(above[2] or kind == kinds[0])
    event_scopes.operator[rows], event_scopes.call[rows], event_scopes.module[rows], event_scopes.loading[rows] = (
        operator,
        call,
        module,
        loading,
    )


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
