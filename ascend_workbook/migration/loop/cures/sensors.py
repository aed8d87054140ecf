"""Readings of NVIDIA's driver, which an NPU's does not give under these names: they are shown, and train nothing."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import replace_node, walk_calls
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source

SOURCE = "https://docs.pytorch.org/docs/stable/cuda.html"
HOLDS_EVERYWHERE = True
NAMES = tuple(
    f"torch.cuda.{name}" for name in ("utilization", "memory_usage", "temperature", "power_draw", "clock_rate")
)
MESSAGES = ("nvidia-ml-py", "pynvml", "DeviceUtilizationRate", *NAMES)


def knows(failure: Failure) -> bool:
    return any(message in failure.text for message in MESSAGES)


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source, call in walk_calls(failure, *NAMES):
        yield source, [replace_node(source, call, "0")]
