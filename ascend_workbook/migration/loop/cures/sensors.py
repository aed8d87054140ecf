"""Readings of NVIDIA's driver, which an NPU's does not give under these names: they are shown, and train nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import is_tested, list_names, replace_node, walk_calls
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source

SOURCE = "https://docs.pytorch.org/docs/stable/cuda.html"
HOLDS_EVERYWHERE = True
NAMES = tuple(
    f"torch.cuda.{name}" for name in ("utilization", "memory_usage", "temperature", "power_draw", "clock_rate")
)
MESSAGE = re.compile(
    r"nvidia-ml-py|No module named 'pynvml'|DeviceUtilizationRate|torch\.cuda\.(utilization|memory_usage|temperature"
    r"|power_draw|clock_rate)|module 'torch[\w.]*' has no attribute '(utilization|memory_usage|temperature|power_draw"
    r"|clock_rate)'"
)


def knows(failure: Failure) -> bool:
    return bool(MESSAGE.search(failure.message))


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source, call in walk_calls(failure, *NAMES):
        if not _decides(source, call):
            yield source, [replace_node(source, call, "0")]


def _decides(source: Source, call: ast.Call) -> bool:
    """Whether a reading, or the name it is given, is compared or tested: what 0 would decide is for a person."""
    parents = (source.names.parent_of(name) for name in list_names(source, call))
    return is_tested(source, call) or any(isinstance(above, (ast.Compare, ast.comprehension)) for above in parents)
