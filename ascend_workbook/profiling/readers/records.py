"""What is used of an event of a Chrome trace that json read: labels, texts of a bounded length, halves made whole."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Union

from ascend_workbook.profiling.readers.document import Event
from ascend_workbook.profiling.readers.values import LIMIT, nanoseconds_of

Label = Union[int, str, None]
UNKNOWN = -1
#: Letters of a name, and of the JSON of shapes or a call stack, that are used: what is longer is in nobody's page
LONGEST_NAME, LONGEST_JSON = 4096, 2**16


def label_in(owner: Event, key: str, absent: Label = None) -> Label:
    """Return what identifies a process, a stream or another event: a whole number or a text."""
    value = owner.get(key, absent)
    return value if value is None or isinstance(value, int) else str(value)[:LONGEST_NAME]


def dict_in(owner: Event, key: str) -> Event:
    """Return a member that is an object, an empty one where it is none."""
    value = owner.get(key)
    return value if isinstance(value, dict) else {}


def text_in(owner: Event, key: str, odd: Counter[str]) -> str:
    """Return a name, cut where it is far too long, which is counted."""
    value = owner.get(key)
    text = "" if value is None else str(value)
    if len(text) > LONGEST_NAME:
        odd["long_texts"] += 1
        text = text[: LONGEST_NAME - 1] + "…"
    return text


def json_in(owner: Event, key: str, odd: Counter[str]) -> bytes:
    """Return a member as JSON text, empty where there is none, or one that is far too long, which is counted."""
    text = json.dumps(owner[key]) if key in owner else ""
    if len(text) > LONGEST_JSON:
        odd["long_texts"] += 1
        return b""
    return text.encode()


def pair_halves(halves: Sequence[Event]) -> tuple[list[Event], int]:
    """Return complete events, of beginnings and ends, in order of their beginnings, and how many halves found no other.
    On a thread they nest like brackets, in order of time and at one moment in the file's order:
    https://chromium.googlesource.com/catapult (Trace Event Format, duration events)."""
    at_ns = nanoseconds_of([half.get("ts") for half in halves]).tolist()
    open_ones: dict[tuple[Label, Label], list[int]] = {}
    complete_events: dict[int, Event] = {}
    lost = 0
    for at in sorted(range(len(halves)), key=at_ns.__getitem__):
        stack = open_ones.setdefault((label_in(halves[at], "pid"), label_in(halves[at], "tid")), [])
        if at_ns[at] <= -LIMIT:
            lost += 1
        elif halves[at]["ph"] == "B":
            stack.append(at)
        elif stack:
            begun_at = stack.pop()
            microseconds, rest = divmod(at_ns[at] - at_ns[begun_at], 1000)
            complete_events[begun_at] = {**halves[begun_at], "dur": f"{microseconds}.{rest:03d}"}
        else:
            lost += 1
    return [complete_events[at] for at in sorted(complete_events)], lost + sum(map(len, open_ones.values()))
