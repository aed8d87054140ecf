"""What the host needs to hand kernels to the device, and whether that holds up the step."""

from __future__ import annotations

from ascend_workbook.estimates.basis import Basis, load_basis
from ascend_workbook.estimates.ranges import Range

YES, NO, UNSURE = "yes", "no", "unsure"


def estimate_launches(kernels: int, basis: Basis | None = None) -> Range:
    """Return how long the host would take to launch so many kernels one after another, in microseconds: from the
    launches alone to the gaps that a Python training leaves between them."""
    host = (basis or load_basis()).about["host"]
    return Range(host["low_us"], host["middle_us"], host["high_us"]).times(kernels)


def judge_host_bound(kernels: int, device: Range, basis: Basis | None = None) -> str:
    """Return whether the host would hold up the device: `yes` where even the fastest launches take longer than the
    kernels, `no` where the slowest do not, else `unsure`."""
    launches = estimate_launches(kernels, basis)
    if launches.low > device.high:
        return YES
    return NO if launches.high < device.low else UNSURE
