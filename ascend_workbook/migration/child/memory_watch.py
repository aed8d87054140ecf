"""A launch plugin: the most memory a training held, and an end to one that would take more than the machine has.

Runs in the user's process by path and imports nothing of the workbook. Keeps in the log's meta, at every step:

    "memory": {"host_peak_mib": 812, "device_peak_mib": 40, "steps": [[600, 31], ...],
               "limit_mib": 9000, "ended": false}

`steps` are what the process (its resident set) and the device's allocator hold after each step; the device's are None
where it has no allocator of its own. Numbers are of this process.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from typing import Any

import torch

MIB = 2**20
LOOK_EVERY_S = 0.2
PAGE = os.sysconf("SC_PAGESIZE")


def resident_mib() -> int:
    """Return the resident set of this process; its largest so far where /proc is not there."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * PAGE // MIB
    except OSError:
        return peak_mib()


def peak_mib() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit // MIB


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Watch the memory; end the process where it holds more than `limit_mib`, so that the machine need not (None:
    never).
    """
    memory_log: dict[str, Any] = {"host_peak_mib": 0, "device_peak_mib": None, "steps": [], "ended": False}
    memory_log["limit_mib"] = config.get("limit_mib")
    observer.log.content["meta"]["memory"] = memory_log
    name = config.get("device", "")

    def record_peaks(*_: object) -> None:
        device = _find_allocator(name)
        memory_log["host_peak_mib"] = peak_mib()
        if device is not None:
            memory_log["device_peak_mib"] = device.max_memory_allocated() // MIB

    def step_ended(step: dict[str, Any]) -> None:
        record_peaks()
        device = _find_allocator(name)
        memory_log["steps"].append([resident_mib(), None if device is None else device.memory_allocated() // MIB])

    observer.on_step(step_ended)
    observer.on_end(record_peaks)
    if memory_log["limit_mib"]:
        threading.Thread(target=_end_beyond_limit, args=(observer, memory_log), daemon=True).start()


def _find_allocator(name: str) -> Any:
    """torch.npu or torch.cuda where the script has used it, else None: asking must not wake a device up."""
    module = getattr(torch, name, None) if name in ("npu", "cuda") else None
    return module if module is not None and module.is_initialized() else None


def _end_beyond_limit(observer: Any, memory_log: dict[str, Any]) -> None:
    owner = os.getpid()
    while os.getpid() == owner:
        time.sleep(LOOK_EVERY_S)
        if resident_mib() > memory_log["limit_mib"]:
            memory_log.update(ended=True, host_peak_mib=peak_mib())
            observer.log.write(force=True)
            os.kill(owner, signal.SIGKILL)
