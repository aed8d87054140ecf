"""Functions that make tensors on a device: `torch.zeros(3, device="cuda")` and the like."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.jit._builtins as jit_builtins
import torch.utils._device as default_device

from . import places, random

#: Beyond torch's own list of constructors: functions with a `device=` that take a tensor's by default.
LIKE = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like")
#: Those that draw random numbers.
RANDOM = {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal"}


def install_factories() -> None:
    # torch remembers this set at its first use; it must hold torch's functions, not ours
    constructors = {function.__name__ for function in default_device._device_constructors()}
    for name in sorted(constructors | set(LIKE) | {"normal"}):
        owner = torch
        if name.startswith("fft_"):
            owner, name = torch.fft, name[4:]
        elif name == "nested_tensor":
            owner = torch.nested
        _wrap_factory(owner, name)
    _map_default_device()


def _wrap_factory(owner: Any, name: str) -> None:
    original = getattr(owner, name)
    draws = name in RANDOM

    @functools.wraps(original)
    def make_on_cpu(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False  # there is nothing to pin memory for
        if device is None or not places.is_cuda(device):
            return original(*args, **kwargs)
        kwargs["device"] = places.device_to_use(device)
        if draws and kwargs.get("generator") is None:
            with random.cuda_stream():
                return original(*args, **kwargs)
        return original(*args, **kwargs)

    setattr(owner, name, make_on_cpu)
    builtin = jit_builtins._find_builtin(original)
    if builtin is not None:
        jit_builtins._register_builtin(make_on_cpu, builtin)  # so that torch.jit.script still knows it


def _map_default_device() -> None:
    """`torch.set_default_device("cuda")` and `with torch.device("cuda"):` both make a DeviceContext."""
    original = default_device.DeviceContext.__init__

    @functools.wraps(original)
    def init_default_device(self: Any, device: Any) -> None:
        original(self, places.device_to_use(torch.device(device)))

    default_device.DeviceContext.__init__ = init_default_device
