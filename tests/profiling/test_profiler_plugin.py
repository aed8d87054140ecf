"""What a step before the recording took, without what the machine gave to others meanwhile."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ascend_workbook.profiling.child.profiler_plugin import Usage, attach, find_waited, read_usage

TOLD = ("model", "step", "end")


def test_what_the_thread_and_the_one_that_it_rests_for_waited_is_told() -> None:
    begun = Usage(0, 0, 100, {"1": (0, 10), "2": (50, 0)})
    ended = Usage(1_000, 500, 300, {"1": (100, 160), "2": (60, 290), "3": (900, 900)})
    assert find_waited(begun, ended) == 200 + 150, "of a thread that is new nothing is known"
    busy = ended._replace(ran_ns=680)
    assert find_waited(begun, busy) == 200 + 20, "no longer than the thread rested and the other did not run"


def test_a_thread_that_runs_is_told_from_one_that_rests() -> None:
    begun = read_usage()
    time.sleep(0.05)
    ended = read_usage()
    assert ended.at_ns - begun.at_ns >= 50_000_000 > ended.ran_ns - begun.ran_ns
    assert find_waited(begun, ended) >= 0


def test_a_thread_that_ends_meanwhile_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path(f"/proc/self/task/{threading.get_native_id()}")
    ended = Path("/proc/self/task/1073741824")  # the system has no thread of this number
    monkeypatch.setattr(Path, "iterdir", lambda folder: iter([ended, own]))
    read = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda path: "7 5 1" if path == own / "schedstat" else read(path))
    assert read_usage().waited_ns == 5


def test_a_script_that_calls_no_module_goes_on() -> None:
    from torch.optim import Optimizer

    hooks: dict[str, Any] = {}
    observer = SimpleNamespace(
        rank=0, limit=9, **{f"on_{name}": lambda hook, name=name: hooks.update({name: hook}) for name in TOLD}
    )
    before = vars(Optimizer)["profile_hook_step"]
    try:
        attach(observer, {"ranks": None, "lines": False, "wait": 1, "warmup": 1, "steps": 1, "more_steps": 0})
    finally:
        Optimizer.profile_hook_step = before
    hooks["step"]({"step": 1})
    hooks["end"]("finished")
