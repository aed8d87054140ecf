"""What is known of a reference: the operator it stands for, where its formula is documented, what the NPU allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Callable, TypeVar

import torch

Function = TypeVar("Function", bound=Callable[..., object])
Dtypes = tuple[torch.dtype, ...]

FLOATS: Dtypes = (torch.float32, torch.float16, torch.bfloat16)
HALVES: Dtypes = (torch.float16, torch.bfloat16)

#: Pages of the operators of torch_npu, one per operator.
DOCUMENTS = "https://gitcode.com/Ascend/op-plugin/tree/master/docs/zh/custom_APIs/torch_npu/"


@dataclass(frozen=True)
class Reference:
    """One operator. `dtypes` are those an Ascend A2 takes, by argument; an argument not named there is not checked.

    `random`: the function takes a torch.Generator by the name `generator`, which the operator does not.
    `writes`: the operator puts its results into these arguments, in order; the function only returns them, first,
    and whatever else the operator returns after them.
    """

    name: str
    function: Callable[..., object]
    dtypes: Mapping[str, Dtypes] = field(default_factory=dict)
    random: bool = False
    writes: tuple[str, ...] = ()


_references: dict[str, Reference] = {}


def reference(
    name: str, *, dtypes: Mapping[str, Dtypes] | None = None, random: bool = False, writes: tuple[str, ...] = ()
) -> Callable[[Function], Function]:
    """Registers the function as the reference of `name`, a literal: the build lists them without importing."""

    def register_function(function: Function) -> Function:
        _references[name] = Reference(name, function, dtypes or {}, random, writes)
        return function

    return register_function


def registered_references() -> dict[str, Reference]:
    return dict(_references)
