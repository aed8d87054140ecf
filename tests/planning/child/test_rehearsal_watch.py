"""The allocator's history is taken piece by piece, and written as one."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from ascend_workbook.planning.child.rehearsal_watch import WRITTEN_AT_ONCE, History


def event(number: int) -> dict[str, Any]:
    frames = [{"filename": "train.py", "line": number % 2, "name": "step"}]
    return {"action": "alloc", "addr": number, "size": 512, "frames": frames}


def read_events(history: History) -> list[list[Any]]:
    pieces = [text for _, text in history.format_events()]
    return [entry for text in pieces for entry in json.loads(f"[{text}]")]


def test_events_are_kept_in_order_and_frames_once() -> None:
    history = History(10 * WRITTEN_AT_ONCE)
    count = WRITTEN_AT_ONCE + 3
    history.add(event(number) for number in range(5))
    history.add(event(number) for number in range(5, count))
    assert read_events(history) == [["alloc", number, 512, number % 2] for number in range(count)]
    assert history.list_frames() == [[["train.py", 0, "step"]], [["train.py", 1, "step"]]]


def test_of_too_many_events_the_oldest_are_dropped() -> None:
    history = History(3)
    history.add(event(number) for number in range(5))
    assert [entry[1] for entry in read_events(history)] == [2, 3, 4]


def test_what_was_taken_is_recorded_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    class Memory:
        started: list[int] = []

        @staticmethod
        def _snapshot() -> dict[str, Any]:
            return {"device_traces": [[event(7)]], "segments": []}

        @classmethod
        def _record_memory_history(cls, **options: Any) -> None:
            cls.started.append(options["max_entries"])

    class Npu:
        memory = Memory
        current_device = staticmethod(lambda: 0)

    monkeypatch.setattr(torch, "npu", Npu, raising=False)
    history = History(9)
    assert history.take(40) == {"segments": []}
    assert history.taken_at == 40 and Memory.started == [9] and len(read_events(history)) == 1
