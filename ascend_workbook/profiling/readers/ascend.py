"""What torch_npu.profiler writes: an `*_ascend_pt` folder with trace_view.json and tables.

trace_view.json is a list; `ts` is a text of epoch microseconds; the process name tells host from device.
Formats: https://www.hiascend.com/document (Ascend PyTorch Profiler, "output files")."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.attribution import Nesting, find_innermost, nest_by_lane
from ascend_workbook.profiling.intervals import I64
from ascend_workbook.profiling.readers import loading, tables
from ascend_workbook.profiling.readers.choice import ALL
from ascend_workbook.profiling.readers.columns import Columns, Flows
from ascend_workbook.profiling.readers.cutting import cut_to_steps, find_unread_halves, read_chosen_steps
from ascend_workbook.profiling.readers.kineto import match_numbers, span_kind
from ascend_workbook.profiling.readers.loading import I8, Calls, Loaded, calls_of, number_kinds, rename_kinds
from ascend_workbook.profiling.readers.records import UNKNOWN
from ascend_workbook.profiling.trace import DEVICE_KINDS, I32, KINDS, UNTOLD, Texts, Trace, assemble_trace, build_trace

FOLDER = "_ascend_pt"
OUTPUT = "ASCEND_PROFILER_OUTPUT"
TIMELINE = "trace_view.json"
#: What the simulated NPU writes for the engine of a kernel: it has none, its kernels run on the CPU
SIMULATED = tables.SIMULATED
COMPUTE = {SIMULATED, "AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "MIX_AIV", "AI_CPU", "DSA_SQE"}
COPY = {"PCIE_DMA_SQE", "SDMA_SQE", "MEMCPY_ASYNC"}
#: Old versions do not tell what a task is
UNKNOWN_TASKS = ("", "Other", "N/A", "UNKNOWN")
HARDWARE = "Ascend Hardware"
COLLECTIVE_PROCESSES = ("HCCL", "Communication")
CATEGORIES = {
    "cpu_op": "host_op",
    "python_function": "python",
    "user_annotation": "annotation",
    "enqueue": "runtime",
    "dequeue": "runtime",
}


def output_of(folder: Path) -> Path | None:
    """Return where the folder's parsed files lie, or None where it is no profile of torch_npu."""
    for inner in (folder / OUTPUT, folder):
        if (inner / TIMELINE).is_file() or (inner / tables.KERNELS).is_file():
            return inner
    return None


def read_folder(folder: Path, steps: str = ALL) -> Trace:
    """Return the Trace of the folder; without a timeline, of kernel_details.csv alone (device events only)."""
    output = output_of(folder)
    if output is None:
        raise WorkbookError("profiling.not_parsed", path=str(folder), wanted=[TIMELINE, tables.KERNELS])
    if (output / TIMELINE).is_file():
        trace = read_chosen_steps(output / TIMELINE, steps, read_timeline)
    else:
        kernels, simulated = tables.read_kernels(output / tables.KERNELS)
        trace = cut_to_steps(build_trace(kernels, source=str(folder), dialect="ascend", simulated=simulated), steps)
    if count := sum(map(tables.count_replaced, output.glob("*.csv"))):
        bytes_here = trace.left_out.get("replaced_bytes", 0)
        return replace(trace, left_out={**trace.left_out, "replaced_bytes": bytes_here + count})
    return trace


def read_timeline(loaded: Loaded) -> Trace:
    """Return the Trace of a trace_view.json. Raises WorkbookError where nothing in it can be used."""
    events = loaded.events
    process = [events.processes.get(pid, "") for pid, _, _ in events.groups]
    kinds = [kind_of(name, category, task) for name, (_, category, task) in zip(process, events.groups)]
    kind = number_kinds(kinds)[events.columns.group]
    kind = rename_kinds(kind, events, ("host_op", "annotation"), span_kind)
    kind = rename_kinds(kind, events, ("communication_task",), _collective_kind)
    unknown = [name == HARDWARE and task in UNKNOWN_TASKS for name, (_, _, task) in zip(process, events.groups)]
    if count := int(np.bincount(events.columns.group, minlength=len(unknown))[unknown].sum()):
        loaded.left_out["unknown_task_type"] = count
    columns, kind = loading.keep_usable(loaded, kind)
    events = loaded.events
    called = calls_of(loaded, columns, kind, lambda dims: tables.format_shape(str(dims or "")))
    launched_by, launch_ns, call = _find_launches(loaded, columns, kind, called)
    columns = columns._replace(correlation=columns.external[:0], called=columns.called[:0].copy())  # no longer needed
    engines = [task if name == HARDWARE else "" for name, (_, _, task) in zip(process, events.groups)]
    lanes = [f"{events.processes.get(pid, '')} {tid}" for pid, tid, _, _ in events.lanes]
    return assemble_trace(
        Texts(events.names, columns.name),
        kind,
        Texts(lanes, columns.lane),
        Texts(called.shapes, call),
        launched_by,
        columns.start_ns,
        columns.duration_ns,
        source=str(loaded.path),
        dialect="ascend",
        left_out=dict(loaded.left_out),
        memory_records=tables.count_rows(loaded.path.with_name(tables.MEMORY)),
        counters=events.counters,
        simulated=any(task == SIMULATED for _, _, task in events.groups),
        cut_at=loaded.cut_at,
        damage=loaded.damage,
        slower=loaded.slower,
        detail=(events.details, columns.detail),
        launch_ns=launch_ns,
        engine=Texts(engines, columns.group),
        dtype=Texts(called.dtypes, call),
        stack=Texts(called.stacks, call),
    )


def kind_of(process: str, category: str, task: str) -> str | None:
    """Return the kind that an event's process, category and Task Type tell, or None for what is no work of its own."""
    if process == HARDWARE:
        return "compute" if task in COMPUTE else "copy" if task in COPY else "device_other"
    if process in COLLECTIVE_PROCESSES:
        return "communication_task"
    return "runtime" if process == "CANN" else CATEGORIES.get(category)


def _collective_kind(name: str) -> str | None:
    return "communication" if name.startswith("hcom") else None


def _find_launches(loaded: Loaded, columns: Columns, kind: I8, called: Calls) -> tuple[I32, I64, I32]:
    """Follow the `async_npu` flows: from the kernel's place and start to the operator that launched it, and when. The
    launch is CANN's call, which has the kernel's connection id; without one, where the arrow begins. The third column
    is what the operators were called with: the innermost operator that launches (`Conv2D`) has no shapes of its own and
    gets those of the nearest around it (`aten::conv2d`)."""
    hosts = np.flatnonzero(kind == KINDS.index("host_op"))
    thread = Texts([str(tid) for _, tid, _, _ in loaded.events.lanes], columns.lane[hosts]).drop_unused()
    threads = nest_by_lane(thread.code, columns.start_ns[hosts], columns.duration_ns[hosts], hosts)
    ends, begin_ns, operator, open_ends, open_operators = _collect_arrows(loaded, thread, threads)
    arrow = _match_arrows(loaded, columns, ends)
    code = called.code.copy()
    bare = [not text for text in called.shapes]
    for nesting in threads.values():
        nesting.inherit_values(code, bare, np.unique(operator[operator >= 0]))
    launch_ns = np.append(begin_ns, np.int64(UNTOLD))[arrow]
    calls, device = np.flatnonzero(kind == KINDS.index("runtime")), np.flatnonzero(kind < len(DEVICE_KINDS))
    call = match_numbers(columns.correlation, calls, device)
    launch_ns[device[call >= 0]] = columns.start_ns[call[call >= 0]]
    if loaded.window:
        loaded.unread = find_unread_halves(columns, calls, device, call)
        loaded.unread[device] |= _match_arrows(loaded, columns, open_ends)[device] >= 0
        loaded.unread[open_operators] = True
    return np.append(operator, np.int32(-1))[arrow], launch_ns, code


def _collect_arrows(loaded: Loaded, thread: Texts, threads: dict[int, Nesting]) -> tuple[Flows, I64, I32, Flows, I32]:
    """Return of the flows that have both ends these ends, when they begin and the operator there, or -1, each (n,); the
    ends without a beginning, and the operators at beginnings without an end."""
    flows = loaded.events.flows
    begins, ends = (np.flatnonzero(flows.is_end == which) for which in (0, 1))
    begin = match_numbers(flows.id, begins, ends)
    numbers = {text: at for at, text in enumerate(thread.texts)}
    of_place = np.array([numbers.get(str(tid), -1) for _, tid in loaded.events.places] or [-1], np.int32)

    def operator_at(rows: npt.NDArray[np.integer]) -> I32:
        return find_innermost(threads, of_place[flows.place[rows]], flows.at_ns[rows])

    both, alone = ends[begin >= 0], begins[~np.isin(flows.id[begins], flows.id[ends])]
    begin, open_ends = begin[begin >= 0], ends[begin < 0]
    open_operators = operator_at(alone)
    matched = _take_rows(flows, both), flows.at_ns[begin], operator_at(begin)
    return *matched, _take_rows(flows, open_ends), open_operators[open_operators >= 0]


def _take_rows(flows: Flows, rows: npt.NDArray[np.integer]) -> Flows:
    return Flows(*(column[rows] for column in flows))


def _match_arrows(loaded: Loaded, columns: Columns, ends: Flows) -> I32:
    """Return for each event the last arrow that ends where it starts, or -1."""
    numbers = {place: at for at, place in enumerate(loaded.events.places)}
    of_lane = np.array([numbers.get((pid, tid), -1) for pid, tid, _, _ in loaded.events.lanes], np.int64)
    arrow_of_event = np.full(columns.lane.size, -1, np.int32)
    if not ends.at_ns.size:
        return arrow_of_event
    rows = np.flatnonzero(np.isin(of_lane, ends.place)[columns.lane])
    moments = np.unique(ends.at_ns)
    at = np.searchsorted(moments, columns.start_ns[rows])
    hit = moments[np.minimum(at, moments.size - 1)] == columns.start_ns[rows]
    key = np.where(hit, of_lane[columns.lane[rows]] * moments.size + at, UNKNOWN)
    arrow_key = ends.place * np.int64(moments.size) + np.searchsorted(moments, ends.at_ns)
    both = np.concatenate([arrow_key, key])
    numbered_ones = np.arange(both.size)
    arrow_of_event[rows] = match_numbers(both, numbered_ones[: arrow_key.size], numbered_ones[arrow_key.size :])
    return arrow_of_event
