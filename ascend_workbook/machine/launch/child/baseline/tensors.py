"""Methods that put a tensor, a module or a storage on a device; loading a checkpoint made on one."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.serialization

from . import places, random

NEW = ("new_tensor", "new_empty", "new_empty_strided", "new_full", "new_zeros", "new_ones")


def install_tensors() -> None:
    torch.Generator = random.Generator
    Tensor = torch.Tensor
    for name in NEW:
        _map_keyword(Tensor, name)
    Tensor.to = _mapped_to(Tensor.to)
    Tensor.cuda = _tensor_cuda
    Tensor.pin_memory = _pin_memory
    Tensor.record_stream = lambda self, stream: None
    Tensor.type = _mapped_type(Tensor.type)
    for storage in (torch.UntypedStorage, torch.TypedStorage):
        storage.cuda = _storage_cuda
        storage.pin_memory = lambda self, device=None: self
    _map_module()
    # CUDA's own deserialiser has priority 20; storages saved on a GPU are read as the CPU's
    torch.serialization.register_package(0, lambda storage: None, _on_cpu)


def _map_keyword(owner: Any, name: str) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def call_on_cpu(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs:
            kwargs["device"] = places.device_to_use(kwargs["device"])
        return original(self, *args, **kwargs)

    setattr(owner, name, call_on_cpu)


def _mapped_to(original: Any) -> Any:
    """`Tensor.to(device)`, `move_tensor(device, dtype)`, `move_tensor(device=...)`."""

    @functools.wraps(original)
    def move_tensor(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and not isinstance(args[0], (torch.dtype, torch.Tensor)):
            args = (places.device_to_use(args[0]), *args[1:])
        if "device" in kwargs:
            kwargs["device"] = places.device_to_use(kwargs["device"])
        return original(self, *args, **kwargs)

    return move_tensor


def _tensor_cuda(
    self: torch.Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = torch.preserve_format
) -> torch.Tensor:
    """A tensor that is there already is returned itself, as CUDA does; every tensor is."""
    places.index_of(device)
    return self if memory_format is torch.preserve_format else self.contiguous(memory_format=memory_format)


def _pin_memory(self: torch.Tensor, device: Any = None) -> torch.Tensor:
    """Pinned memory is a copy; its pages are ordinary here."""
    return self.clone()


def _mapped_type(original: Any) -> Any:
    """`tensor.type("torch.cuda.FloatTensor")`."""

    @functools.wraps(original)
    def convert_type(self: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(dtype, str) and dtype.startswith("torch.cuda."):
            dtype = dtype.replace("torch.cuda.", "torch.", 1)
        return original(self, *((dtype, *args) if dtype is not None else args), **kwargs)

    return convert_type


def _storage_cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
    places.index_of(device)
    return self


def _map_module() -> None:
    """`Module.cuda` and most of `Module.to` reach Tensor's methods by themselves; `move_module` checks its device
    first.
    """
    original = torch.nn.Module.to

    @functools.wraps(original)
    def move_module(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and not isinstance(args[0], (torch.dtype, torch.Tensor)):
            args = (places.device_to_use(args[0]), *args[1:])
        if "device" in kwargs:
            kwargs["device"] = places.device_to_use(kwargs["device"])
        return original(self, *args, **kwargs)

    torch.nn.Module.to = move_module
    to_empty = torch.nn.Module.to_empty

    @functools.wraps(to_empty)
    def mapped_to_empty(self: Any, *, device: Any, recurse: bool = True) -> Any:
        return to_empty(self, device=places.device_to_use(device), recurse=recurse)

    torch.nn.Module.to_empty = mapped_to_empty


def _on_cpu(storage: Any, location: str) -> Any:
    return storage if location.startswith("cuda") else None
