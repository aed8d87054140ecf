"""Children that answer the same each time are asked once: which devices are here, and operators run again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from ascend_workbook.machine import device
from ascend_workbook.precision import capture
from ascend_workbook.precision.divergence import replay
from benchmarks.matrix.replaying import in_this_process

FIND, BASELINE = cache(device.find), cache(device.find_baseline)


@pytest.fixture(autouse=True, scope="package")
def devices_are_looked_for_once() -> Iterator[None]:
    """Captures look for their device in a child of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "find", FIND)
        patch.setattr(device, "find_baseline", BASELINE)
        # two steps more for each capture: test_budget.py asks for them; the command line and the pages, which are
        # derived from the signature, stay as they are
        patch.setattr(capture.capture, "__signature__", inspect.signature(capture.capture), raising=False)
        defaults = dict(capture.capture.__kwdefaults__ or {})
        patch.setattr(capture.capture, "__kwdefaults__", {**defaults, "estimate": False})
        yield


@pytest.fixture(autouse=True, scope="package")
def operators_are_run_again_in_this_process() -> Iterator[Callable[..., Any]]:
    """Gives what starts the child."""
    in_a_child = replay.ask_child
    with in_this_process():
        yield in_a_child


@pytest.fixture
def operators_are_run_again_in_a_child(
    operators_are_run_again_in_this_process: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As outside of tests."""
    monkeypatch.setattr(replay, "ask_child", operators_are_run_again_in_this_process)
