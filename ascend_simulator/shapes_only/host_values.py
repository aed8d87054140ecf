"""What Python takes out of a tensor of the host without an operator: lists and arrays of modelled values."""

from __future__ import annotations

from typing import Any

import torch

from .native import Native
from .reads import Reads

#: Of an array of up to so many bytes the stand-ins are written; a larger one costs no memory and holds zeros.
MOST_WRITTEN = 16 << 20


def patch_values(native: Native, reads: Reads) -> None:
    """Note where a program takes modelled values of the host as a list or an array, and give stand-ins."""
    ordinary_list, ordinary_array = torch.Tensor.tolist, torch.Tensor.numpy
    if getattr(ordinary_list, "of_shapes_only", False):
        return

    def tolist(self: torch.Tensor) -> Any:
        content = native.content_of(self)
        if not content:
            return ordinary_list(self)
        value = _note(reads, "tolist", self)
        return _nest([*self.shape], value) if content == native.HOLLOW else ordinary_list(self)

    def numpy(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        content = native.content_of(self)
        array = ordinary_array(self, *args, **kwargs)
        if content:
            value = _note(reads, "numpy", self)
            if content == native.HOLLOW and array.nbytes <= MOST_WRITTEN:
                array[...] = value
                native.set_stand_in(self)
        return array

    tolist.of_shapes_only = True  # type: ignore[attr-defined]
    torch.Tensor.tolist, torch.Tensor.numpy = tolist, numpy


def _note(reads: Reads, operator: str, tensor: torch.Tensor) -> float:
    """Note a read and return the stand-in of the tensor's type, or what is assumed at the place."""
    value = 1.0 if tensor.is_floating_point() or tensor.is_complex() else 0.0
    dtype = str(tensor.dtype).rpartition(".")[2]
    assumed = reads.note(operator, dtype, [*tensor.shape], value, sets_shape=False)
    return value if assumed is None else assumed


def _nest(shape: list[int], value: float) -> Any:
    if not shape:
        return value
    return [_nest(shape[1:], value) for _ in range(shape[0])]
