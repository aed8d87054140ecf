"""The most memory a process of ours took, and how running out of it is told."""

from __future__ import annotations

import re
import resource
import sys

#: torch.OutOfMemoryError, torch_npu's "NPU out of memory", the CPU allocator's words, CANN's 207001
MEMORY = re.compile(r"out of memory|can't allocate memory|not enough memory|OutOfMemory|\b207001\b", re.IGNORECASE)
MIB = 1 << 20


def reset_peak(accelerator: str) -> None:
    """The device's peak counts from now on; the host's cannot be reset."""
    if accelerator != "cpu":
        import torch

        getattr(torch, accelerator).reset_peak_memory_stats()


def peak_mib(accelerator: str) -> tuple[float | None, float]:
    """What torch allocated of the device (None: there is none), and what was resident of this process so far."""
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes there, KiB on Linux
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MIB
    if accelerator == "cpu":
        return None, host
    import torch

    return getattr(torch, accelerator).max_memory_allocated() / MIB, host
