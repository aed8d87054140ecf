"""A library asks for the CUDA capability, torch's own collectives too: torch_npu answers what a variable says, or None.

Under transfer_to_npu `dist.broadcast` of torch 2.13 indexes None. The variable is set where the script begins, for
children too, and only where nobody has set it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import import_lines
from ascend_workbook.migration.loop.failure import FRAME, Failure
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ASCEND

SOURCE = ASCEND + "torch_npu/npu/__init__.py"
VARIABLE = "TORCH_NPU_DEVICE_CAPABILITY"
LINES = ("import os", f'os.environ.setdefault("{VARIABLE}", "8.0")')


def knows(failure: Failure) -> bool:
    innermost = FRAME.split(failure.trace)[-1]
    return "NoneType" in failure.message and "get_device_capability(" in innermost


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    entry = failure.read(failure.spots[0].name) if failure.spots else None
    if entry is not None and VARIABLE not in entry.text:
        yield entry, [import_lines(entry, *LINES)]
