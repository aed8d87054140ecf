"""Which device this very process works on: a loop of the caller's own runs here, not in a child."""

from __future__ import annotations

import platform
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine import cann
from ascend_workbook.machine.device import Device


def find_device(wanted: str = "auto") -> Device:
    """Return the accelerator that this process's torch sees, else the CPU, which can always be asked for.

    Raises WorkbookError where another one is wanted.
    """
    chosen = _describe_cpu() if wanted == "cpu" else _find_accelerator() or _describe_cpu()
    if wanted not in ("auto", chosen.tier):
        raise WorkbookError("profiling.not_here", wanted=wanted, tier=chosen.tier)
    return chosen


def describe_simulator(chosen_device: Device) -> dict[str, Any]:
    """Return what LaunchResult.simulator says, of this process: faults on purpose, numerics; empty elsewhere."""
    if not chosen_device.simulated:
        return {}
    from ascend_workbook.machine.launch.child import simulator as loaded

    return dict(loaded.describe_simulator())


def _find_accelerator() -> Device | None:
    """Return the accelerator that this process's torch sees, None where there is none."""
    import torch

    for name in ("npu", "cuda"):
        module = getattr(torch, name, None)
        if module is not None and module.is_available():
            active = cann.find_cann() if name == "npu" else None
            tier = "npu-simulated" if active and active.simulated else name
            return Device(tier, module.get_device_name(0), module.device_count(), _read_versions())
    return None


def _describe_cpu() -> Device:
    return Device("cpu", platform.processor() or platform.machine(), 1, _read_versions())


def _read_versions() -> dict[str, str]:
    """Return the versions of torch and torch_npu where they are loaded."""
    import sys

    loaded = ((name, sys.modules.get(name)) for name in ("torch", "torch_npu"))
    return {name: str(getattr(module, "__version__", "")) for name, module in loaded if module is not None}
