"""torch.profiler's Chrome traces, torch 1.8 to 2.13: CPU, CUDA and ROCm.

Categories changed their names (Operator -> cpu_op, Kernel -> kernel, Runtime -> cuda_runtime) and times their
form (whole epoch microseconds, then fractions, then microseconds after `baseTimeNanoseconds`); all are read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError
from helpers.profiling.attribution import nestings
from helpers.profiling.readers.events import Times
from helpers.profiling.trace import Event, Trace, build

CATEGORIES = {
    "cpu_op": "host_op",
    "operator": "host_op",
    "kernel": "compute",
    "memcpy": "copy",
    "memset": "copy",
    "gpu_memcpy": "copy",
    "gpu_memset": "copy",
    "python_function": "python",
    "user_annotation": "annotation",
    "runtime": "runtime",
}
#: cuda_runtime, cuda_driver, hip_runtime, xpu_runtime, privateuse1_runtime, mtia_runtime, ...
RUNTIME_ENDINGS = ("_runtime", "_driver")
COLLECTIVES = ("nccl", "rccl", "hccl", "oneccl")
#: Names that torch gives to spans, whatever their category
SPANS = {"ProfilerStep#": "step", "enumerate(DataLoader)#": "loading", "Optimizer.": "annotation"}


def read(content: Any, path: Path) -> Trace:
    """The Trace of a parsed Kineto file. Raises WorkbookError where it is not one."""
    if not isinstance(content, dict) or not isinstance(content.get("traceEvents"), list):
        raise WorkbookError("profiling.not_a_trace", path=str(path), found=type(content).__name__)
    times = Times(int(content.get("baseTimeNanoseconds") or 0))
    events: list[Event] = []
    raw: list[dict[str, Any]] = []
    for one in content["traceEvents"]:
        event = _event(one, times) if isinstance(one, dict) and one.get("ph") == "X" else None
        if event:
            events.append(event)
            raw.append(_arguments(one))
    if not events:
        raise WorkbookError("profiling.no_events", path=str(path))
    memory = sum(1 for one in content["traceEvents"] if isinstance(one, dict) and one.get("name") == "[memory]")
    left_out = dict(times.left_out)
    return build(_launches(events, raw), source=str(path), dialect="kineto", left_out=left_out, memory_records=memory)


def kind_of(category: str, name: str) -> str | None:
    """The kind of an event, or None for what is no work of its own (the trace's own frame, GPU annotations)."""
    category = category.lower()
    kind = CATEGORIES.get(category) or ("runtime" if category.endswith(RUNTIME_ENDINGS) else None)
    if kind in ("host_op", "annotation"):
        return span_kind(name) or kind
    if kind == "compute" and any(word in name.lower() for word in COLLECTIVES):
        return "communication"
    return kind


def span_kind(name: str) -> str | None:
    """What torch's own marks stand for, or None."""
    return next((kind for start, kind in SPANS.items() if name.startswith(start)), None)


def _event(one: dict[str, Any], times: Times) -> Event | None:
    name = str(one.get("name", ""))
    kind = kind_of(str(one.get("cat") or ""), name)
    when = times.of(one) if kind else None
    if not kind or not when:
        return None
    shape = _shape(_arguments(one).get("Input Dims")) if kind == "host_op" else ""
    return Event(name, kind, _lane(one, kind), *when, shape)


def _arguments(one: dict[str, Any]) -> dict[str, Any]:
    args = one.get("args")
    return args if isinstance(args, dict) else {}


def _lane(one: dict[str, Any], kind: str) -> str:
    args = _arguments(one)
    if kind in ("compute", "communication", "copy") and "stream" in args:
        return f"device {args.get('device', one.get('pid'))} stream {args['stream']}"
    return f"{one.get('pid')}/{one.get('tid')}"


def _shape(dims: Any) -> str:
    """`[[64, 16], [], []]` -> `[64,16]`: what has no size is left out."""
    if not isinstance(dims, list):
        return ""
    return " ".join(json.dumps(one, separators=(",", ":")) for one in dims if one)


def _launches(events: list[Event], raw: list[dict[str, Any]]) -> list[Event]:
    """Links device events to the operator that launched them: by external id, else by where its call was made."""
    hosts = [row for row, event in enumerate(events) if event.kind == "host_op"]
    by_id = {raw[row].get("External id", raw[row].get("external id")): row for row in hosts}
    by_id.pop(None, None)
    calls = {raw[row].get("correlation"): event for row, event in enumerate(events) if event.kind == "runtime"}
    calls.pop(None, None)
    threads = nestings(
        [events[row].lane for row in hosts],
        [events[row].start_ns for row in hosts],
        [events[row].duration_ns for row in hosts],
        hosts,
    )
    linked = list(events)
    for row, event in enumerate(events):
        if event.kind in ("compute", "communication", "copy"):
            operator = by_id.get(raw[row].get("External id", raw[row].get("external id")), -1)
            call = calls.get(raw[row].get("correlation"))
            if operator < 0 and call is not None and call.lane in threads:
                operator = threads[call.lane].innermost(call.start_ns)
            linked[row] = event._replace(launched_by=operator)
    return linked
