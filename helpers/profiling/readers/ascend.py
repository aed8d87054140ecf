"""What torch_npu.profiler writes: an `*_ascend_pt` folder with trace_view.json and tables.

trace_view.json is a list; `ts` is a text of epoch microseconds; the process name tells host from device.
Formats: https://www.hiascend.com/document (Ascend PyTorch Profiler, "output files").
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError
from helpers.profiling.attribution import Nesting, nestings
from helpers.profiling.readers import tables
from helpers.profiling.readers.events import Times, load
from helpers.profiling.readers.kineto import span_kind
from helpers.profiling.trace import Event, Trace, build

FOLDER = "_ascend_pt"
OUTPUT = "ASCEND_PROFILER_OUTPUT"
TIMELINE = "trace_view.json"
#: What the simulated NPU writes for the engine of a kernel: it has none, its kernels run on the CPU
SIMULATED = tables.SIMULATED
COMPUTE = {SIMULATED, "AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "MIX_AIV", "AI_CPU", "DSA_SQE"}
COPY = {"PCIE_DMA_SQE", "SDMA_SQE", "MEMCPY_ASYNC"}
COLLECTIVE_PROCESSES = ("HCCL", "Communication")


def output_of(folder: Path) -> Path | None:
    """Where the folder's parsed files lie, or None where it is no profile of torch_npu."""
    for inner in (folder / OUTPUT, folder):
        if (inner / TIMELINE).is_file() or (inner / tables.KERNELS).is_file():
            return inner
    return None


def read_folder(folder: Path) -> Trace:
    """The Trace of the folder; without a timeline, of kernel_details.csv alone (device events only)."""
    output = output_of(folder)
    if output is None:
        raise WorkbookError("profiling.not_parsed", path=str(folder), wanted=[TIMELINE, tables.KERNELS])
    if (output / TIMELINE).is_file():
        return read_events(load(output / TIMELINE), output / TIMELINE)
    found, simulated = tables.kernels(output / tables.KERNELS)
    return build(found, source=str(folder), dialect="ascend", simulated=simulated)


def read_events(content: Any, path: Path) -> Trace:
    """The Trace of a parsed trace_view.json. Raises WorkbookError where it is not one."""
    if not isinstance(content, list):
        raise WorkbookError("profiling.not_a_trace", path=str(path), found=type(content).__name__)
    records = [one for one in content if isinstance(one, dict)]
    processes = _processes(records)
    times = Times()
    pairs = [(one, _event(one, processes, times)) for one in records if one.get("ph") == "X"]
    kept = [(one, event) for one, event in pairs if event]
    if not kept:
        raise WorkbookError("profiling.no_events", path=str(path))
    events = _launches([event for _, event in kept], [one for one, _ in kept], records, times)
    memory = tables.count(path.with_name(tables.MEMORY))
    return build(
        events,
        source=str(path),
        dialect="ascend",
        left_out=dict(times.left_out),
        memory_records=memory,
        simulated=_simulated(records),
    )


def _simulated(records: list[dict[str, Any]]) -> bool:
    return any(isinstance(one.get("args"), dict) and one["args"].get("Task Type") == SIMULATED for one in records)


def _processes(records: list[dict[str, Any]]) -> dict[Any, str]:
    names = ((one.get("pid"), one.get("args")) for one in records if one.get("name") == "process_name")
    return {pid: str(args.get("name")) for pid, args in names if isinstance(args, dict)}


def _event(one: dict[str, Any], processes: dict[Any, str], times: Times) -> Event | None:
    process, name = processes.get(one.get("pid"), ""), str(one.get("name", ""))
    raw = one.get("args")
    args: dict[str, Any] = raw if isinstance(raw, dict) else {}
    kind = _kind(process, name, str(one.get("cat") or ""), str(args.get("Task Type") or ""), times)
    when = times.of(one) if kind else None
    if not kind or not when:
        return None
    shape = tables.shape(str(args.get("Input Dims") or "")) if kind == "host_op" else ""
    return Event(name, kind, f"{process} {one.get('tid')}", *when, shape)


def _kind(process: str, name: str, category: str, task: str, times: Times) -> str | None:
    if process == "Ascend Hardware":
        if task not in COMPUTE | COPY and task in ("", "Other", "N/A", "UNKNOWN"):
            times.left_out["unknown_task_type"] += 1
        return "compute" if task in COMPUTE else "copy" if task in COPY else "device_other"
    if process in COLLECTIVE_PROCESSES:
        return "communication" if name.startswith("hcom") else "communication_task"
    if process == "CANN":
        return "runtime"
    known = {"cpu_op": "host_op", "python_function": "python", "user_annotation": "annotation"}
    known |= {"enqueue": "runtime", "dequeue": "runtime"}
    kind = known.get(category)
    return span_kind(name) or kind if kind in ("host_op", "annotation") else kind


def _launches(
    events: list[Event], raw: list[dict[str, Any]], records: list[dict[str, Any]], times: Times
) -> list[Event]:
    """Follows the `async_npu` flows: from the kernel's place and start to the operator that launched it."""
    hosts = [row for row, event in enumerate(events) if event.kind == "host_op"]
    threads = nestings(
        [str(raw[row].get("tid")) for row in hosts],
        [events[row].start_ns for row in hosts],
        [events[row].duration_ns for row in hosts],
        hosts,
    )
    flows = [one for one in records if one.get("cat") == "async_npu"]
    begins = {one.get("id"): one for one in flows if one.get("ph") == "s"}
    launched: dict[tuple[Any, Any, int], int] = {}
    for one in flows:
        begin = begins.get(one.get("id"))
        if one.get("ph") == "f" and begin is not None:
            place = (one.get("pid"), one.get("tid"), times.moment(one.get("ts")))
            launched[place] = _operator_at(threads, begin, times)
    keys = ((one.get("pid"), one.get("tid"), event.start_ns) for one, event in zip(raw, events))
    linked = [event._replace(launched_by=launched.get(key, -1)) for event, key in zip(events, keys)]
    return _with_shapes(linked, threads, set(launched.values()))


def _with_shapes(events: list[Event], threads: dict[str, Nesting], launchers: set[int]) -> list[Event]:
    """The innermost operator that launches (`Conv2D`) has no shapes of its own: those of `aten::conv2d` around it."""
    shapes = [event.shape for event in events]
    for thread in threads.values():
        for row, shape in thread.inherited(shapes).items():
            if row in launchers:
                events[row] = events[row]._replace(shape=shape)
    return events


def _operator_at(threads: dict[str, Nesting], begin: dict[str, Any], times: Times) -> int:
    thread = threads.get(str(begin.get("tid")))
    return thread.innermost(times.moment(begin.get("ts"))) if thread else -1
