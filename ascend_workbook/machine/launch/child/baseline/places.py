"""What a device means here, and the error for what has no meaning."""

from __future__ import annotations

import os

import torch

#: The only machine there is. torch.device itself is never replaced.
CPU = torch.device("cpu")
_current = 0


class NotStandIn(RuntimeError):
    """A CUDA feature that the CPU cannot stand in for; `feature` names it."""

    def __init__(self, feature: str) -> None:
        super().__init__(
            f"{feature}: the CPU standing in for CUDA (baseline=cpu) has no such thing. "
            "Run the baseline on a CUDA GPU, or run the script without this feature."
        )
        self.feature = feature


def device_count() -> int:
    """Return as many as torchrun started processes here, else one."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def current_device() -> int:
    return _current


def set_current(index: int) -> int:
    """Makes `index` current; returns the one before."""
    global _current
    before, _current = _current, index
    return before


def index_of(device: object) -> int:
    """Return the index of a CUDA device given as int, "cuda:1", torch.device or None (the current one).

    Raises RuntimeError as CUDA does where there is no such device.
    """
    if device is None:
        return _current
    if isinstance(device, int):
        index = device if device >= 0 else _current
    else:
        place = torch.device(device)
        if place.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {place}")
        index = _current if place.index is None else place.index
    if index >= device_count():
        there = f"{device_count()} devices, CPU standing in for CUDA"
        raise RuntimeError(f"CUDA error: invalid device ordinal (cuda:{index} of {there})")
    return int(index)


def is_cuda(device: object) -> bool:
    """Whether a device argument means CUDA: an int does."""
    if isinstance(device, bool):
        return False
    if isinstance(device, int):
        return True
    if isinstance(device, str):
        return device == "cuda" or device.startswith("cuda:")
    return isinstance(device, torch.device) and device.type == "cuda"


def device_to_use(device: object) -> object:
    """Return the device to use: a CUDA device that exists becomes the CPU, anything else stays."""
    if not is_cuda(device):
        return device
    index_of(device)
    return CPU
