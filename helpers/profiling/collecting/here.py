"""Which device this very process works on: a loop of the caller's own runs here, not in a child."""

from __future__ import annotations

import platform
from typing import Any

from helpers import cann
from helpers.device import Device
from helpers.errors import WorkbookError


def device(wanted: str = "auto") -> Device:
    """The accelerator that this process's torch sees, else the CPU, which can always be asked for.

    Raises WorkbookError where another one is wanted.
    """
    found = _cpu() if wanted == "cpu" else _accelerator() or _cpu()
    if wanted not in ("auto", found.tier):
        raise WorkbookError("profiling.not_here", wanted=wanted, tier=found.tier)
    return found


def simulator(found: Device) -> dict[str, Any]:
    """What LaunchResult.simulator says, of this process: faults on purpose, numerics; empty elsewhere."""
    if not found.simulated:
        return {}
    from helpers.launch.child import simulator as loaded

    return dict(loaded.found())


def _accelerator() -> Device | None:
    import torch

    for name in ("npu", "cuda"):
        module = getattr(torch, name, None)
        if module is not None and module.is_available():
            active = cann.find() if name == "npu" else None
            tier = "npu-simulated" if active and active.simulated else name
            return Device(tier, module.get_device_name(0), module.device_count(), _versions())
    return None


def _cpu() -> Device:
    return Device("cpu", platform.processor() or platform.machine(), 1, _versions())


def _versions() -> dict[str, str]:
    import sys

    loaded = ((name, sys.modules.get(name)) for name in ("torch", "torch_npu"))
    return {name: str(getattr(module, "__version__", "")) for name, module in loaded if module is not None}
