"""The tables of mindstudio_profiler_output: op_summary, op_statistic, api_statistic, task_time. Microseconds."""

from __future__ import annotations

from statistics import pvariance

from .records import CORE, Profile, Task, format_microseconds
from .timeline import NO_MODEL, api_name

Row = dict[str, object]
NOT_KNOWN = "N/A"


def op_summary(profile: Profile) -> list[Row]:
    """Return a row for each kernel and collective; it waits from the end of the task before on the same stream."""
    last: dict[tuple[int, int], int] = {}
    rows = []
    for task in profile.tasks_of("kernel", "collective"):
        before = last.get((task.device, task.stream), task.start_ns)
        last[task.device, task.stream] = task.end_ns
        rows.append(_op_row(task, profile.detailed, max(0, task.start_ns - before)))
    return rows


def _op_row(task: Task, detailed: bool, wait_ns: int) -> Row:
    collective = task.kind == "collective"
    row: Row = {
        "Device_id": task.device,
        "Model ID": NO_MODEL,
        "Task ID": NOT_KNOWN if collective else task.number,
        "Stream ID": NOT_KNOWN if collective else task.stream,
        "Op Name": task.name,
        "OP Type": task.type if detailed or collective else NOT_KNOWN,
        "OP State": NOT_KNOWN,
        "Task Type": "COMMUNICATION" if collective else CORE,
        "Task Start Time(us)": format_microseconds(task.start_ns) + "\t",
        "Task Duration(us)": format_microseconds(task.duration_ns),
        "Task Wait Time(us)": format_microseconds(wait_ns),
        "Block Num": 0,  # torch_npu's and msprof-analyze's parsers want a number
        "Mix Block Num": NOT_KNOWN,
        "HF32 Eligible": NOT_KNOWN,
    }
    if detailed:
        row.update(_describe_operands("Input", task.input_shapes, task.input_types))
        row.update(_describe_operands("Output", task.output_shapes, task.output_types))
    return {**row, "Context ID": NOT_KNOWN}


def _describe_operands(side: str, shapes: str, types: str) -> Row:
    return {
        f"{side} Shapes": f'"{shapes}"' if types else NOT_KNOWN,
        f"{side} Data Types": types or NOT_KNOWN,
        f"{side} Formats": NOT_KNOWN,
    }


def op_statistic(profile: Profile) -> list[Row]:
    """Return a row for each operator type, the costliest first."""
    by_type: dict[tuple[int, str], list[int]] = {}
    for task in profile.tasks_of("kernel"):
        by_type.setdefault((task.device, task.type), []).append(task.duration_ns)
    total = sum(sum(times) for times in by_type.values()) or 1
    rows = [
        {
            "Device_id": device,
            "OP Type": name,
            "Core Type": CORE,
            "Count": len(times),
            "Total Time(us)": sum(times) / 1000,
            "Min Time(us)": min(times) / 1000,
            "Avg Time(us)": round(sum(times) / len(times) / 1000, 3),
            "Max Time(us)": max(times) / 1000,
            "Ratio(%)": round(100 * sum(times) / total, 3),
        }
        for (device, name), times in sorted(by_type.items(), key=lambda item: -sum(item[1]))
    ]
    return rows


def api_statistic(profile: Profile) -> list[Row]:
    """Return a row for each call of the host."""
    calls: dict[tuple[str, str], list[float]] = {}
    for task in profile.tasks:
        calls.setdefault(api_name(task), []).append((task.returned_ns - task.called_ns) / 1000)
    return [
        {
            "Level": level,
            "API Name": name,
            "Time(us)": round(sum(times), 3),
            "Count": len(times),
            "Avg(us)": round(sum(times) / len(times), 3),
            "Min(us)": min(times),
            "Max(us)": max(times),
            "Variance": round(pvariance(times), 3),
        }
        for (level, name), times in sorted(calls.items())
    ]


def task_time(profile: Profile) -> list[Row]:
    """Return a row for each task of the device's streams."""
    return [
        {
            "Device_id": task.device,
            "kernel_name": task.name,
            "kernel_type": "MEMCPY_ASYNC" if task.kind == "copy" else CORE,
            "stream_id": task.stream,
            "task_id": task.number,
            "task_time(us)": task.duration_ns / 1000,
            "task_start(us)": format_microseconds(task.start_ns) + "\t",
            "task_stop(us)": format_microseconds(task.end_ns) + "\t",
        }
        for task in profile.tasks_of("kernel", "copy")
    ]
