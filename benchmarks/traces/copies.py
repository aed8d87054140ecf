"""A small real trace many times over: each copy later by one span, its ids and step numbers its own.

Names, shapes and stacks repeat with every copy, so what a reader remembers of texts helps it more than in a real
trace of that size.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import msgspec

STEP = "ProfilerStep#"
#: Further apart than the ids of any copy, and all of them together below 2**63
APART = 10**14
Shift = Callable[[dict[str, Any], int], dict[str, Any]]


def kineto(source: Path, target: Path, megabytes: int) -> int:
    """Writes a torch.profiler trace of about that size; gives the number of copies."""
    opened: IO[str]
    with gzip.open(source, "rt") if source.suffix == ".gz" else source.open() as opened:
        document = json.load(opened)
    events = document.pop("traceEvents")
    steps = len({one["name"] for one in events if str(one.get("name", "")).startswith(STEP)})
    span = _span_us(events)
    ids = [int(one["id"]) for one in events if "id" in one]
    ids += [one["args"].get(key, 0) for one in events if "args" in one for key in ("correlation", "External id")]
    apart = max(ids) + 1

    def shift(event: dict[str, Any], copy: int) -> dict[str, Any]:
        moved = {**event, "ts": event["ts"] + copy * span, "name": _name(event, copy * steps)}
        if "id" in event:
            moved["id"] = int(event["id"]) + copy * apart
        args = event.get("args", {})
        links = {key: args[key] + copy * apart for key in ("correlation", "External id") if key in args}
        return {**moved, "args": {**args, **links}} if links else moved

    with target.open("wb") as file:
        file.write(msgspec.json.encode(document)[:-1] + b', "traceEvents": [')
        copies = _write(file, events, shift, megabytes)
        file.write(b"]}")
    return copies


def timeline(source: Path, target: Path, megabytes: int) -> tuple[int, int]:
    """Writes a trace_view.json of about that size; gives (number of copies, microseconds between two)."""
    events = json.loads(source.read_text(encoding="utf-8"))
    span = _span_us(events)

    def shift(event: dict[str, Any], copy: int) -> dict[str, Any]:
        moved = {**event, "ts": later(event["ts"], copy * span), "name": _name(event, copy)}
        category = event.get("cat")
        if category == "async_npu":  # the id is the kernel's start in nanoseconds
            moved["id"] = event["id"] + copy * span * 1000
        elif category == "HostToDevice":
            moved["id"] = str(int(event["id"]) + copy * APART)
            moved["name"] = category + moved["id"]
        elif "id" in event:
            moved["id"] = event["id"] + copy * 10**7
        args = event.get("args", {})
        apart = {"connection_id": APART, "correlation_id": 10**7}
        links = {key: type(args[key])(int(args[key]) + copy * far) for key, far in apart.items() if key in args}
        return {**moved, "args": {**args, **links}} if links else moved

    with target.open("wb") as file:
        file.write(b"[")
        copies = _write(file, events, shift, megabytes)
        file.write(b"]")
    return copies, span


def later(microseconds: str, by: int) -> str:
    """A time as text, `by` whole microseconds later; what stands behind its point stays."""
    whole, point, part = microseconds.partition(".")
    return f"{int(whole) + by}{point}{part}"


def _write(file: IO[bytes], events: list[dict[str, Any]], shift: Shift, megabytes: int) -> int:
    """What has no time once, the others in copies until the file has the size."""
    once = [one for one in events if one.get("ph") == "M" or "ts" not in one]
    body = [one for one in events if one.get("ph") != "M" and "ts" in one]
    size = file.write(_joined(once))
    copies = 0
    while size < megabytes * 1_000_000 or not copies:
        size += file.write(b", " + _joined(shift(one, copies) for one in body))
        copies += 1
    return copies


def _joined(events: Iterable[dict[str, Any]]) -> bytes:
    return b", ".join(map(msgspec.json.encode, events))


def _span_us(events: list[dict[str, Any]]) -> int:
    """From the first to the last, and 20 ms between two copies."""
    times = [Decimal(str(one["ts"])) for one in events if "ts" in one and one.get("ph") != "M"]
    return int(max(times) - min(times)) + 20_000


def _name(event: dict[str, Any], steps: int) -> str:
    name = str(event["name"])
    return f"{STEP}{int(name[len(STEP) :]) + steps}" if name.startswith(STEP) else name
