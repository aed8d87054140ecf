"""A launch plugin: the whole script on fake tensors, which have shapes, data types and devices but no values.

So a model of any size can be built and trained for a step without its memory (PyTorch's FakeTensorMode). Where a
script asks for a value (`loss.item()`), it gets 1; a shape that depends on values cannot be told, and raises.

Runs in the user's process by path and imports nothing of the workbook.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import torch
import torch.utils.data
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils import _python_dispatch

#: Operators that bring a value to the host.
VALUES = {"aten::_local_scalar_dense": 1, "aten::item": 1, "aten::equal": True, "aten::is_nonzero": True}


class _Values(_python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """Stands above the fake tensors and answers what they cannot."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        answer = VALUES.get(func._schema.name)
        if answer is None:
            return func(*args, **(kwargs or {}))
        dtype = args[0].dtype
        return answer if isinstance(answer, bool) else _one_of_dtype(dtype)


def _one_of_dtype(dtype: torch.dtype) -> complex:
    """Return the number one as Python's number of the data type."""
    if dtype == torch.bool:
        return True
    return 1.0 if dtype.is_floating_point else complex(1.0) if dtype.is_complex else 1


def attach(observer: Any, config: dict[str, object]) -> None:
    """From here on every tensor is fake. Losses and norms have no values: none are kept."""
    observer.losses.backward_from = lambda tensors: None
    observer.losses.note_scaled = lambda *arguments: None
    _load_in_this_process()
    _convert_by_new_parameters()
    # a GradScaler asks the values of gradients whether they are finite
    torch.amp.GradScaler.step = lambda self, optimizer, *args, **kwargs: optimizer.step(*args, **kwargs)
    torch.amp.GradScaler.update = lambda self, new_scale=None: None
    torch.amp.GradScaler.unscale_ = lambda self, optimizer: None
    _format_and_list()
    FakeTensorMode(allow_non_fake_inputs=True).__enter__()
    _Values().__enter__()


def _load_in_this_process() -> None:
    """A loader's worker cannot hand a fake tensor over."""
    original = torch.utils.data.DataLoader.__init__
    signature = inspect.signature(original)
    here = {"num_workers": 0, "pin_memory": False, "persistent_workers": False, "prefetch_factor": None}

    @functools.wraps(original)
    def init_loader(self: object, *args: object, **kwargs: object) -> None:
        arguments = signature.bind(self, *args, **kwargs).arguments
        arguments.update({name: value for name, value in here.items() if name in arguments})
        original(**arguments)

    torch.utils.data.DataLoader.__init__ = init_loader


def _convert_by_new_parameters() -> None:
    """`model.cuda()` and the like: PyTorch swaps a fake parameter in place, which fails once anything refers to it."""

    def apply_conversion(self: torch.nn.Module, convert: Any, recurse: bool = True) -> torch.nn.Module:
        converted_parameters: dict[int, torch.nn.Parameter] = {}
        for module in self.modules() if recurse else [self]:
            for name, old in module._parameters.items():
                if old is not None:
                    with torch.no_grad():
                        new = convert(old)
                    same = (new.dtype, new.device) == (old.dtype, old.device)
                    module._parameters[name] = converted_parameters.setdefault(
                        id(old), old if same else torch.nn.Parameter(new, old.requires_grad)
                    )
            for name, buffer in module._buffers.items():
                module._buffers[name] = None if buffer is None else convert(buffer)
        return self

    torch.nn.Module._apply = apply_conversion


def _format_and_list() -> None:
    """`f"{loss:.4f}"`, `.tolist()` and `.numpy()`, which do not come by the dispatcher."""

    def format_fake_tensor(self: torch.Tensor, spec: str) -> str:
        return format(self.item(), spec) if self.dim() == 0 else str(tuple(self.shape))

    def list_fake_values(self: torch.Tensor) -> object:
        value: object = _one_of_dtype(self.dtype)
        for length in reversed(self.shape):
            value = [value] * int(length)
        return value

    def as_array(self: torch.Tensor, *args: object, **kwargs: object) -> object:
        import numpy

        plain = numpy.dtype(str(self.dtype).replace("torch.", "").replace("bfloat16", "float32"))
        return numpy.ones(tuple(self.shape), dtype=plain)

    torch.Tensor.numpy = torch.Tensor.__array__ = as_array
    torch.Tensor.__format__ = format_fake_tensor
    torch.Tensor.tolist = FakeTensor.tolist = list_fake_values  # a fake tensor's own asks one value after the other
