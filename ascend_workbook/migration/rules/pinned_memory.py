"""`x.pin_memory()`: patched, pins for the NPU. DataLoader(pin_memory=True) asks the accelerator at hand."""

from __future__ import annotations

from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import AUTO, MEASURED, TRANSFER, Findings, Known, found_method

CODE = "MIG117"
TOKENS = ("pin_memory",)
PATTERN = r"\. pin_memory \("
KNOWN = Known(MEASURED, TRANSFER)


def check(source: Source) -> Findings:
    for call in source.names.calls_by_method.get("pin_memory", ()):
        yield found_method(source, call, "MIG117.patched", AUTO)
