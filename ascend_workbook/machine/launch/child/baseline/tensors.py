"""Functions that make tensors on a device, methods that put tensors, modules and storages on one, loading of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.jit._builtins as jit_builtins
import torch.serialization
import torch.utils._device as default_device

from ..replacing import replaces
from . import places, random, sides

#: Beyond torch's own list of constructors: functions with a `device=` that take a tensor's by default.
LIKE = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like")
#: Those that draw random numbers.
RANDOM = {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal"}
_copy_to = torch.Tensor.__base__.to
NEW = ("new_tensor", "new_empty", "new_empty_strided", "new_full", "new_zeros", "new_ones")


def install_factories() -> None:
    """Let `torch.zeros(3, device="cuda")` and the like make tensors on the CPU."""
    # torch remembers this set at its first use; it must hold torch's functions, not ours
    constructors = {function.__name__ for function in default_device._device_constructors()}
    for name in sorted(constructors | set(LIKE) | {"normal"}):
        owner = torch
        if name.startswith("fft_"):
            owner, name = torch.fft, name[4:]
        elif name == "nested_tensor":
            owner = torch.nested
        _wrap_factory(owner, name)

    # `torch.set_default_device("cuda")` and `with torch.device("cuda"):` both make a DeviceContext
    @replaces(default_device.DeviceContext, "__init__")
    def init_default_device(original: Callable[..., None], self: Any, device: object) -> None:
        original(self, places.device_to_use(torch.device(device)))
        self.stands_for_cuda = places.is_cuda(torch.device(device))

    for name in ("from_numpy", "frombuffer"):
        replaces(torch, name)(_mark_on_cpu)


def _mark_on_cpu(original: Callable[..., object], *args: object, **kwargs: object) -> object:
    tensor = original(*args, **kwargs)
    sides.mark([tensor], gpu=False)
    return tensor


def _wrap_factory(owner: object, name: str) -> None:
    builtin = jit_builtins._find_builtin(getattr(owner, name))

    like = name in LIKE

    @replaces(owner, name)
    def make_on_cpu(original: Callable[..., object], *args: object, **kwargs: object) -> object:
        device = kwargs.get("device")
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False  # there is nothing to pin memory for
        if device is not None:
            gpu: bool | None = sides.is_gpu(device)
            kwargs["device"] = places.device_to_use(device)
        elif like or name in ("normal", "as_tensor", "asarray"):
            gpu = _find_side(name, [*args, *kwargs.values()])
        else:
            gpu = sides.default_is_gpu()
        if name in RANDOM and gpu and kwargs.get("generator") is None:
            with random.cuda_stream(assumed=sides.assumed):
                tensor = original(*args, **kwargs)
        else:
            tensor = original(*args, **kwargs)
        if gpu is not None:
            sides.mark([tensor], gpu=gpu)
        return tensor

    if builtin is not None:
        jit_builtins._register_builtin(getattr(owner, name), builtin)  # so that torch.jit.script still knows it


def _find_side(name: str, values: list[object]) -> bool | None:
    """Return the side of what is made like a tensor that is given; what is drawn like one has to be on some side."""
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    if not tensors:
        return sides.default_is_gpu()
    return sides.on_gpu(*tensors) if name in RANDOM else sides.side_of(tensors[0])


def install_tensors() -> None:
    """Let the methods of tensors, modules and storages, and the loading of a checkpoint, take CUDA for the CPU."""
    torch.Generator = random.Generator
    Tensor = torch.Tensor
    for owner, names in ((Tensor, (*NEW, "to")), (torch.nn.Module, ("to", "to_empty"))):
        # `Module.cuda` and most of `Module.to` reach Tensor's methods by themselves; `to` checks its device first
        for name in names:
            _map_device(owner, name)
    Tensor.cuda = _tensor_cuda

    @replaces(Tensor, "cpu")
    def bring_back(original: Callable[..., torch.Tensor], self: torch.Tensor, *args: object, **kw: object) -> object:
        return _bring_back(self, original(self, *args, **kw))

    Tensor.pin_memory = lambda self, device=None: self.clone()  # a copy; its pages are ordinary here
    Tensor.record_stream = lambda self, stream: None

    @replaces(Tensor, "type")
    def convert_type(
        original: Callable[..., object], self: torch.Tensor, dtype: object = None, *args: object, **kwargs: object
    ) -> object:
        if isinstance(dtype, str) and dtype.startswith("torch.cuda."):
            dtype = dtype.replace("torch.cuda.", "torch.", 1)
        if dtype is not None or args or kwargs:
            return original(self, *((dtype, *args) if dtype is not None else args), **kwargs)
        name = str(original(self))
        if name.startswith("torch.cuda.") or self.is_sparse or not sides.on_gpu(self):
            return name
        return name.replace("torch.", "torch.cuda.", 1)

    for storage in (torch.UntypedStorage, torch.TypedStorage):
        storage.cuda = _storage_cuda
        storage.pin_memory = lambda self, device=None: self
    # CUDA's own deserialiser has priority 20; storages saved on a GPU are read as the CPU's
    torch.serialization.register_package(
        0, lambda storage: None, lambda storage, location: storage if location.startswith("cuda") else None
    )


def _map_device(owner: object, name: str) -> None:
    """Let a method's `device=` mean the CPU; also its first argument in `to(device)` and `to(device, dtype)`."""

    @replaces(owner, name)
    def call_on_cpu(original: Callable[..., object], self: object, *args: object, **kwargs: object) -> object:
        device = kwargs.get("device")
        if name == "to" and args and not isinstance(args[0], (torch.dtype, torch.Tensor)):
            device, args = args[0], (places.device_to_use(args[0]), *args[1:])
        if "device" in kwargs:
            kwargs["device"] = places.device_to_use(kwargs["device"])
        result = original(self, *args, **kwargs)
        if isinstance(self, torch.nn.Module):
            if places.is_cuda(device):
                self._apply(lambda tensor: tensor.cuda())
            return result
        if name != "to":
            gpu = sides.side_of(self) if device is None else sides.is_gpu(device)
        elif isinstance(device, str) and device == "cpu":
            return _bring_back(self, result)
        else:
            gpu = True if places.is_cuda(device) else None
            result = _move_there(self, result) if gpu else result
        if gpu is not None:
            sides.mark([result], gpu=gpu)
        return result


def _move_there(tensor: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """Return what moving to the GPU gives: of a tensor that lies on the CPU, a copy."""
    if result is tensor and sides.side_of(tensor) is False:
        result = _copy_to(tensor, places.CPU, copy=True)
    return result


def _bring_back(tensor: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """Return what moving to the CPU gives: a copy, unless the tensor is known to lie there; none before a GPU's is."""
    if result is tensor and sides.on_gpu(tensor):
        result = _copy_to(tensor, places.CPU, copy=True)
    sides.mark([result], gpu=False)
    return result


def _tensor_cuda(
    self: torch.Tensor,
    device: object = None,
    non_blocking: bool = False,
    memory_format: torch.memory_format = torch.preserve_format,
) -> torch.Tensor:
    """A tensor that is there already is returned itself, as CUDA does."""
    places.index_of(device)
    result = self if memory_format is torch.preserve_format else self.contiguous(memory_format=memory_format)
    result = _move_there(self, result)
    sides.mark([result], gpu=True)
    return result


def _storage_cuda(self: object, device: object = None, non_blocking: bool = False) -> object:
    places.index_of(device)
    return self
