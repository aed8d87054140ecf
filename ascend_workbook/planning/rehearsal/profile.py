"""Writes the estimated profile of a rehearsal in the form of torch_npu.profiler, so that `analyse` reads it."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ascend_workbook.estimates.basis import Basis
from ascend_workbook.estimates.loads import measure_kernel
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.planning.rehearsal.clock import Span, describe_calls, run_clock
from ascend_workbook.planning.rehearsal.settings import Cluster
from ascend_workbook.planning.rehearsal.work import Call, Work
from ascend_workbook.profiling.facts import RECORD

#: Steps that are written, all alike: `analyse` leaves the first out.
STEPS = 3
#: Microseconds since the epoch at which the virtual clock begins: 2020-01-01, for no real trace.
BEGIN_US = 1577836800000000
HOST, CANN, DEVICE, HCCL = 1, 2, 3, 4
PROCESSES = {HOST: "Python", CANN: "CANN", DEVICE: "Ascend Hardware", HCCL: "HCCL"}
#: The folders of earlier estimated profiles.
OURS = "rank*_estimated_ascend_pt"
#: Families whose kernels run on cubes; all others are taken for vector kernels.
CUBE = ("matmul", "attention", "attention_grad", "convolution", "convolution_grad")
KERNEL_COLUMNS = (
    "Step Id",
    "Device_id",
    "Name",
    "Type",
    "Accelerator Core",
    "Start Time(us)",
    "Duration(us)",
    "Wait Time(us)",
    "Input Shapes",
    "Input Data Types",
    "Output Shapes",
    "Output Data Types",
)


def write_profile(works: Mapping[int, Work], cluster: Cluster, basis: Basis, folder: Path) -> Path:
    """Write the estimated profile of the ranks below the folder, one `rank<R>_..._ascend_pt` each, and the record that
    says that it is estimated. What lay there from an earlier one is removed. Raises WorkbookError where anything else
    lies there: a record of ours beside a real profile would call that one estimated."""
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob(OURS):
        shutil.rmtree(stale)
    for rank, spans in run_clock(works, cluster, basis).items():
        output = folder / f"rank{rank}_estimated_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        output.mkdir(parents=True)
        (output / "trace_view.json").write_text(json.dumps(_list_events(spans)), encoding="utf-8")
        _write_kernels(output / "kernel_details.csv", spans)
    record = {
        "tier": "npu-simulated",
        "device": cluster.chip.name,
        "estimated": {"basis": basis.name, "date": basis.date, "chip": cluster.chip.name},
        "environment": {},
        "status": "complete",
    }
    (folder / RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")
    return folder


def check_folder(folder: Path) -> None:
    """Raise WorkbookError where the folder holds anything but an earlier estimated profile."""
    entries = list(folder.iterdir()) if folder.is_dir() else []
    others = [entry for entry in entries if entry.name != RECORD and not entry.match(OURS)]
    if others or (folder / RECORD in entries and not _is_estimated(folder / RECORD)):
        raise WorkbookError("profiling.not_ours", path=str(folder), record=RECORD)


def _is_estimated(record: Path) -> bool:
    try:
        return bool(json.loads(record.read_text(encoding="utf-8")).get("estimated"))
    except (OSError, ValueError, AttributeError):
        return False


def _step_ns(spans: Sequence[Span]) -> int:
    return max((span.end_ns for span in spans), default=0) + 1_000


def _stamp(ns: int) -> str:
    return f"{BEGIN_US + ns // 1000}.{ns % 1000:03d}"


def _list_events(spans: Sequence[Span]) -> list[dict[str, Any]]:
    """Return the events of a trace_view.json: host operators, kernels, collectives, and the flows between them."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        for pid, name in PROCESSES.items()
    ]
    length = _step_ns(spans)
    for step in range(STEPS):
        begin = step * length
        events.append(_event(HOST, 1, f"ProfilerStep#{step}", begin, length, "cpu_op"))
        for task, called, returned in describe_calls(spans):
            name = task.name if isinstance(task, Call) else "aten::copy_"
            if isinstance(task, Call):
                dims = ";\r\n".join(",".join(map(str, shape)) for shape in task.inputs)
                args = {"Input Dims": dims, "Input type": ";".join(task.input_types)}
                events.append(_event(HOST, 1, name.split(".")[0], begin + called, returned - called, "cpu_op", args))
        for number, span in enumerate(spans):
            events += _device_events(span, begin, (step << 32) + number)
    return events


def _device_events(span: Span, begin: int, number: int) -> list[dict[str, Any]]:
    collective = span.kind == "collective"
    pid, tid = (HCCL, -span.stream) if collective else (DEVICE, span.stream)
    args: dict[str, Any] = {} if collective else {"Task Type": _core_of(span)}
    start, launched = begin + span.start_ns, begin + span.launched_ns
    flow = {"name": "torch_to_npu", "id": number, "cat": "async_npu", "bp": "e"}
    return [
        _event(pid, tid, span.name, start, span.end_ns - span.start_ns, None, args),
        {"ph": "s", "pid": HOST, "tid": 1, "ts": _stamp(launched), **flow},
        {"ph": "f", "pid": pid, "tid": tid, "ts": _stamp(start), **flow},
    ]


def _event(
    pid: int, tid: int, name: str, start: int, length: int, category: str | None, args: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": _stamp(start), "dur": length / 1000}
    return {**event, "args": dict(args or {}), **({"cat": category} if category else {})}


def _core_of(span: Span) -> str:
    if span.kernel is None:
        return "SDMA_SQE"
    return "AI_CORE" if measure_kernel(span.kernel).family in CUBE else "AI_VECTOR_CORE"


def _write_kernels(path: Path, spans: Sequence[Span]) -> None:
    """Write kernel_details.csv, all steps."""
    length = _step_ns(spans)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(KERNEL_COLUMNS)
        for step in range(STEPS):
            for span in spans:
                kernel = span.kernel
                shapes = (
                    [";".join(",".join(map(str, shape)) for shape in side) for side in (kernel.inputs, kernel.outputs)]
                    if kernel
                    else ["", ""]
                )
                types = [";".join(kernel.input_types), ";".join(kernel.output_types)] if kernel else ["", ""]
                core = "HCCL" if span.kind == "collective" else _core_of(span)
                times = (_stamp(step * length + span.start_ns), (span.end_ns - span.start_ns) / 1000, 0)
                operands = (f'"{shapes[0]}"', types[0], f'"{shapes[1]}"', types[1])
                rows.writerow((step, 0, span.name, span.name, core, *times, *operands))
