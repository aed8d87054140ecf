"""torch.profiler's Chrome traces, torch 1.8 to 2.13: CPU, CUDA and ROCm.

Categories changed their names (Operator -> cpu_op, Kernel -> kernel, Runtime -> cuda_runtime) and times their
form (whole epoch microseconds, then fractions, then microseconds after `baseTimeNanoseconds`); all are read.
`displayTimeUnit` changes what a viewer shows and not the unit, which is always the microsecond."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ascend_workbook.profiling.attribution import find_innermost, nest_by_lane
from ascend_workbook.profiling.families import family_of
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers import loading
from ascend_workbook.profiling.readers.columns import Columns, Events
from ascend_workbook.profiling.readers.cutting import find_unread_halves
from ascend_workbook.profiling.readers.loading import I8, NO_KIND, Loaded, base_ns, calls_of, number_kinds, rename_kinds
from ascend_workbook.profiling.readers.records import UNKNOWN
from ascend_workbook.profiling.trace import I32, KINDS, ON_DEVICE, UNTOLD, Texts, Trace, assemble_trace

Rows = npt.NDArray[np.intp]
CATEGORIES = {
    "cpu_op": "host_op",
    "operator": "host_op",
    "kernel": "compute",
    "memcpy": "copy",
    "memset": "copy",
    "gpu_memcpy": "copy",
    "gpu_memset": "copy",
    "mtia_ccp_events": "compute",
    "collective_comm": "communication",
    "python_function": "python",
    "user_annotation": "annotation",
    "runtime": "runtime",
}
#: cuda_runtime, cuda_driver, hip_runtime, xpu_runtime, privateuse1_runtime, mtia_runtime, ...
RUNTIME_ENDINGS = ("_runtime", "_driver")
#: gpu_memcpy, mlu_memcpy, ...
COPY_ENDINGS = ("_memcpy", "_memset")
#: What devices do that is not read here: parts of Meta's MTIA, Intel's Gaudi, Glow
FOREIGN = ("mtia_workloadd", "mtia_insight", "hpu_op", "glow_runtime")
#: What MTIA does beside kernels, in the same category
BESIDE_KERNELS = {"event_wait": "device_other", "event_record": "device_other", "dma_request": "copy"}
#: Before Kineto events had no category; their process says where they ran, and the device's are the operators' own,
#: those around others too
BEFORE_KINETO = {"CPU functions": "host_op", "CUDA functions": "compute"}
#: Members of the file beside its events: the rank among others, and the machine's name
ABOUT = ("distributedInfo", "host_name", "trace_id", "deviceProperties")
COLLECTIVES = ("nccl", "rccl", "hccl", "oneccl")
#: What the simulated NPU writes beside the events, and how torch_npu calls an NPU's lanes, a real one's or not
SIMULATED, LANES = "simulated_npu", "NPU"
#: Operators whose kernels are collectives, whatever these are called
#: https://docs.pytorch.org/docs/stable/symmetric_memory.html; the servers' own as public traces name them
COLLECTIVE_OPERATORS = re.compile(
    r"^(symm_mem::|_?c10d(_functional)?::|record_param_comms|nvshmem|deep_ep|mscclpp)"
    r"|^(vllm|sglang|sgl_kernel|_C_custom_ar|aiter)::\w*(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all)"
)
#: Names that torch gives to spans, whatever their category
SPANS = {"ProfilerStep#": "step", "enumerate(DataLoader)#": "loading", "Optimizer.": "annotation"}


def is_kineto(loaded: Loaded) -> bool:
    """Return whether torch's own profiler wrote a file: an object, or, before Kineto, a list of what ran where."""
    return not loaded.is_list or any(not cat and str(pid) in BEFORE_KINETO for pid, cat, _ in loaded.events.groups)


def read_timeline(loaded: Loaded) -> Trace:
    """Return the Trace of a Kineto file. Raises WorkbookError where nothing in it can be used."""
    events = loaded.events
    foreign = [category.lower() in FOREIGN for _, category, _ in events.groups]
    if count := int(np.bincount(events.columns.group, minlength=len(foreign))[foreign].sum()):
        loaded.left_out["foreign_device"] = count
    kinds = [
        kind_of(category) or (BEFORE_KINETO.get(str(pid)) if not category else None)
        for pid, category, _ in events.groups
    ]
    kind = number_kinds(kinds)[events.columns.group]
    kind = _keep_innermost(kind, events)
    kind = rename_kinds(kind, events, ("host_op", "annotation"), span_kind)
    kind = rename_kinds(kind, events, ("compute",), BESIDE_KERNELS.get)
    kind = rename_kinds(kind, events, ("compute",), _collective_kind)
    columns, kind = loading.keep_usable(loaded, kind, base_ns(loaded))
    events = loaded.events
    threads = [f"{pid}/{tid}" for pid, tid, _, _ in events.lanes]
    streams = [
        thread if stream is None else f"device {pid if device is None else device} stream {stream}"
        for thread, (pid, _, device, stream) in zip(threads, events.lanes)
    ]
    on_device = np.isin(kind, number_kinds(ON_DEVICE))  # runs on a device's stream, all else on a thread
    lane_code = (columns.lane + on_device * len(threads)).astype(np.int32)
    lane = Texts([*threads, *streams], lane_code).drop_unused()
    called = calls_of(loaded, columns, kind, _format_shape)
    launched_by, launch_ns = _find_launches(loaded, columns, kind, lane.code)
    kind = _mark_collectives(kind, launched_by, columns.name, events.names)
    return assemble_trace(
        Texts(events.names, columns.name),
        kind,
        lane,
        Texts(called.shapes, called.code),
        launched_by,
        columns.start_ns,
        columns.duration_ns,
        source=str(loaded.path),
        dialect="kineto",
        left_out=dict(loaded.left_out),
        memory_records=events.memory_records,
        cut_at=loaded.cut_at,
        simulated=SIMULATED in loaded.members,
        damage=loaded.damage,
        slower=loaded.slower,
        detail=(events.details, columns.detail),
        about={name: loaded.members[name] for name in ABOUT if name in loaded.members}
        | ({"npu": True} if LANES in events.processes.values() else {}),
        launch_ns=launch_ns,
        dtype=Texts(called.dtypes, called.code),
        stack=Texts(called.stacks, called.code),
    )


def kind_of(category: str) -> str | None:
    """Return the kind that a category alone tells; None for what is no work of its own (the frame, GPU annotations)."""
    category = category.lower()
    if category.endswith(COPY_ENDINGS):
        return "copy"
    return CATEGORIES.get(category) or ("runtime" if category.endswith(RUNTIME_ENDINGS) else None)


def _keep_innermost(kind: I8, events: Events) -> I8:
    """Return the kinds without the device's events that are mostly others', where these are operators: one work."""
    old = np.array([not category and str(pid) == "CUDA functions" for pid, category, _ in events.groups] or [False])
    rows = np.flatnonzero(old[events.columns.group] & (kind == KINDS.index("compute")))
    if rows.size:
        kind = kind.copy()
        columns = events.columns
        for thread in nest_by_lane(
            columns.lane[rows], columns.start_ns[rows], columns.duration_ns[rows], rows
        ).values():
            kind[thread.rows[2 * thread.self_ns() < thread.end_ns - thread.start_ns]] = NO_KIND
    return kind


def span_kind(name: str) -> str | None:
    """Return what torch's own marks stand for, or None."""
    return next((kind for start, kind in SPANS.items() if name.startswith(start)), None)


def _collective_kind(name: str) -> str | None:
    is_named = any(word in name.lower() for word in COLLECTIVES) or family_of(name) == "collective"
    return "communication" if is_named else None


def _mark_collectives(kind: I8, launched_by: I32, name: I32, names: Sequence[str]) -> I8:
    """Return the kinds with the kernels that an operator for collectives launched among these."""
    operator = np.array([bool(COLLECTIVE_OPERATORS.search(text)) for text in names] or [False])
    chosen = (kind == KINDS.index("compute")) & (launched_by >= 0) & operator[name[launched_by]]
    return np.where(chosen, np.int8(KINDS.index("communication")), kind)


def _format_shape(dims: object) -> str:
    """Turn `[[64, 16], [], []]` into `[64,16]`: what has no size is left out."""
    if not isinstance(dims, list):
        return ""
    return " ".join(json.dumps(sizes, separators=(",", ":")) for sizes in dims if sizes)


def _find_launches(loaded: Loaded, columns: Columns, kind: I8, lane: I32) -> tuple[I32, I64]:
    """Find for device events the operator that launched them, by external id, else by where its call was made; and when
    that call began. -1 where that is not known. A simulated NPU's kernels begin with their call."""
    hosts, calls = (np.flatnonzero(kind == KINDS.index(name)) for name in ("host_op", "runtime"))
    device = np.flatnonzero(np.isin(kind, number_kinds(ON_DEVICE)))
    launcher = match_numbers(columns.external, hosts, device)
    number = columns.start_ns if SIMULATED in loaded.members else columns.correlation
    call = match_numbers(number, calls, device)
    threads = nest_by_lane(lane[hosts], columns.start_ns[hosts], columns.duration_ns[hosts], hosts)
    moment = np.full(kind.size, UNTOLD, np.int64)
    moment[device[call >= 0]] = columns.start_ns[call[call >= 0]]
    if loaded.window:
        loaded.unread = find_unread_halves(columns, calls, device, call)
        if not loaded.unread.any() and not (columns.correlation[calls] != UNKNOWN).any():
            loaded.unread[device] = (columns.external[device] != UNKNOWN) & (launcher < 0)
    open_ones = (launcher < 0) & (call >= 0)
    call = call[open_ones]
    launcher[open_ones] = find_innermost(threads, lane[call], columns.start_ns[call])
    launched = np.full(kind.size, -1, np.int32)
    launched[device] = launcher
    return launched, moment


def match_numbers(number: I64, among: Rows, rows: Rows) -> I32:
    """Return for each of `rows` the last row `among` those that has the same number, or -1: (rows,)."""
    among = among[number[among] != UNKNOWN]
    if not among.size:
        return np.full(rows.size, -1, np.int32)
    ordered = among[np.argsort(number[among], kind="stable")]
    at = np.searchsorted(number[ordered], number[rows], "right") - 1
    matches = ordered[np.maximum(at, 0)]
    return np.where((at >= 0) & (number[matches] == number[rows]), matches, -1).astype(np.int32)
