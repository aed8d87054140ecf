"""The synthetic traces (tests/data/profiling/make.py says what is in them) and small ways to make others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.trace import Event, build_trace

DATA = Path(__file__).parents[1] / "data" / "profiling"
WITH_DEVICE = (
    "cuda.pt.trace.json",
    "cuda_epoch.pt.trace.json",
    "cuda_old.pt.trace.json.gz",
    "rocm.pt.trace.json",
    "timeline_ascend_pt",
)
US = 1000


def step(number: int, start_us: int, length_us: int) -> Event:
    return Event(f"ProfilerStep#{number}", "step", "host", start_us * US, length_us * US)


@pytest.fixture
def profile_of() -> Callable[..., Profile]:
    """`profile_of([(kind, name, start_us, duration_us), ...], tier="npu")`: steps of 1000 us, the events in each."""

    def make(events: list[tuple[str, str, int, int]], *, steps: int = 4, tier: str = "npu", **more: Any) -> Profile:
        made = [step(number, 1000 * number, 1000) for number in range(steps)]
        for number in range(steps):
            for kind, name, start, length in events:
                made.append(Event(name, kind, kind, (1000 * number + start) * US, length * US))
        return Profile.from_trace(build_trace(made, source="made", dialect="ascend", **more), {"tier": tier})

    return make
