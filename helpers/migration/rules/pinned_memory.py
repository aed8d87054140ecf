"""`x.pin_memory()`: patched, pins for the NPU. DataLoader(pin_memory=True) asks the accelerator at hand."""

from __future__ import annotations

from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import MEASURED, TRANSFER, Known
from helpers.migration.reading.source import Source
from helpers.migration.repair import AUTO, found_method

CODE = "MIG117"
TOKENS = ("pin_memory",)
PATTERN = r"\. pin_memory \("
KNOWN = Known(MEASURED, TRANSFER)
EXAMPLES = (("x = x.pin_memory().to(d, non_blocking=True)  # 锁页\n", "auto", None),)
NEAR_MISSES = (
    "from torch.utils.data import DataLoader\nl = DataLoader(d, pin_memory=True)  # 锁页\n",
    "def pin_memory(self):\n    return self\n",
)


def check(source: Source) -> Iterable[Finding]:
    for call in source.names.methods.get("pin_memory", ()):
        yield found_method(source, call, "MIG117.patched", AUTO)
