"""Rides in the training process: the most memory it took, written as `memory.rank<R>.json` when it ends."""

from __future__ import annotations

import json
import resource
import sys
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from ascend_workbook.machine.launch.child.observer import Observer

MIB = 1 << 20


def attach(observer: Observer, config: dict[str, str]) -> None:
    """`config`: accelerator, the torch device type: npu, cuda or cpu."""

    def write_memory(status: str) -> None:
        peak = {"status": status, **_peak_memory(config["accelerator"])}
        path = observer.out / f"memory.rank{observer.rank}.json"
        aside = path.with_name(f"{path.name}.part")
        aside.write_text(json.dumps(peak), encoding="utf-8")
        aside.replace(path)

    observer.on_end(write_memory)


def _peak_memory(accelerator: str) -> dict[str, float]:
    """MiB: of a device what torch allocated and reserved, and what the device has; of the CPU what was resident."""
    if accelerator == "cpu":
        unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes there, KiB on Linux
        return {"resident_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MIB}
    device = getattr(torch, accelerator)
    total = device.get_device_properties(device.current_device()).total_memory
    sizes = {"allocated": device.max_memory_allocated(), "reserved": device.max_memory_reserved(), "device": total}
    return {f"{name}_mib": value / MIB for name, value in sizes.items()}
