"""The most memory a process of ours took, and how running out of it is told."""

from __future__ import annotations

import re
import resource
import sys

#: torch.OutOfMemoryError, torch_npu's "NPU out of memory", the CPU allocator's words, CANN's 207001
MEMORY = re.compile(r"out of memory|can't allocate memory|not enough memory|OutOfMemory|\b207001\b", re.IGNORECASE)
MIB = 1 << 20


class Peak:
    """From its making on, the most memory that this process takes, of the device and of the host.

    The host's peak cannot be reset: where it does not rise, no more is known than that it was no larger than before.
    """

    def __init__(self, accelerator: str) -> None:
        self._accelerator, self._before = accelerator, host_mib()
        if accelerator != "cpu":
            import torch

            getattr(torch, accelerator).reset_peak_memory_stats()

    def device_mib(self) -> float | None:
        """Return the most that torch allocated; None where there is no device."""
        if self._accelerator == "cpu":
            return None
        import torch

        return float(getattr(torch, self._accelerator).max_memory_allocated() / MIB)

    def host_mib(self) -> tuple[float | None, float | None]:
        """Return the host's peak where it rose, else None and the bound that it stayed below."""
        now = host_mib()
        return (now, None) if now > self._before else (None, now)


def host_mib() -> float:
    """Return the most that was resident of this process since it started."""
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes there, KiB on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MIB
