"""Captures look for their device in a child of its own; within one module of tests the answer does not change."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from helpers import device
from helpers.precision import capture


@pytest.fixture(autouse=True, scope="module")
def devices_are_looked_for_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "find", cache(device.find))
        patch.setattr(device, "baseline", cache(device.baseline))
        # two steps more for each capture: test_budget.py asks for them
        defaults = dict(capture.capture.__kwdefaults__ or {})
        patch.setattr(capture.capture, "__kwdefaults__", {**defaults, "estimate": False})
        yield
