"""A trace of any size in the form torch 2.x writes, made of nothing."""

from __future__ import annotations

import json
from pathlib import Path


def generate(path: Path, megabytes: int) -> None:
    """Steps of 20 operators, each with a call, a kernel and an arrow; every 20th kernel is a collective."""
    size, number, us = 0, 0, 0
    with path.open("w", encoding="utf-8") as file:
        size += file.write('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [\n')
        while size < megabytes * 1_000_000:
            events = [_event("user_annotation", f"ProfilerStep#{number}", 1, us, 2000, {"External id": 0})]
            for at in range(20):
                events += _operator(20 * number + at + 1, us + 100 * at)
            size += file.write(",\n".join(json.dumps(one, indent=2) for one in events) + ",\n")
            number, us = number + 1, us + 2000
        file.write(json.dumps(_event("cpu_op", "aten::last", 1, us, 1, {})))
        file.write('], "displayTimeUnit": "ms", "baseTimeNanoseconds": 1736408883000000000}')


def _operator(number: int, us: int) -> list[dict[str, object]]:
    link = {"External id": number, "correlation": number}
    shapes = {"Input Dims": [[32, 64 + number % 7, 56, 56], [64, 64, 3, 3], []], "Input type": ["float"] * 3}
    collective = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    name = collective if number % 20 == 0 else f"void at::native::kernel_{number % 97}<4>"
    return [
        _event("cpu_op", f"aten::op_{number % 113}", 1, us, 60.25, {"External id": number, **shapes}),
        _event("cuda_runtime", "cudaLaunchKernel", 1, us + 20.5, 9.125, link),
        _event("kernel", name, 7, us + 130.75, 88.032, {**link, "device": 0, "stream": 7, "grid": [8, 1, 1]}),
        {"ph": "s", "id": number, "pid": 9, "tid": 1, "ts": us + 20.5, "cat": "ac2g", "name": "ac2g"},
        {"ph": "f", "id": number, "pid": 0, "tid": 7, "ts": us + 130.75, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    ]


def _event(
    category: str, name: str, tid: int, us: float, duration_us: float, args: dict[str, object]
) -> dict[str, object]:
    where = {"pid": 0 if category == "kernel" else 9, "tid": tid}
    return {"ph": "X", "cat": category, "name": name, **where, "ts": us, "dur": duration_us, "args": args}
