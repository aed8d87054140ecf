"""What is known of a reference: the operator it stands for, where its formula is documented, what the NPU allows."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Callable, TypeVar, cast

import torch

Function = TypeVar("Function", bound=Callable[..., object])
Result = TypeVar("Result")
Dtypes = tuple[torch.dtype, ...]


class Arguments(SimpleNamespace):
    """The arguments of one call, by name."""


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


def _bind_to(signature: inspect.Signature, function: Function, call: Callable[[dict[str, Any]], object]) -> Function:
    """Return the function with this signature: `call` gets every argument by its name."""

    @functools.wraps(function)
    def call_function(*args: object, **kwargs: object) -> object:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return call(bound.arguments)

    vars(call_function)["__signature__"] = signature
    return cast(Function, call_function)


def takes(schema: str) -> Callable[[Callable[[Arguments], Result]], Callable[..., Result]]:
    """Gives a function of one namespace the arguments that torch_npu's schema lists: "Tensor x, *, int dim=-1"."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(
            argument.name,
            kinds[argument.kwarg_only],
            default=argument.default_value if argument.has_default_value() else inspect.Parameter.empty,
        )
        for argument in torch._C.parse_schema(f"f({schema}) -> ()").arguments
    ]
    return lambda function: _bind_to(
        inspect.Signature(parameters), function, lambda names: function(Arguments(**names))
    )


def derived_from(
    base: Callable[..., object], *, without: Sequence[str] = (), **renamed: str
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Gives a function of `**arguments` the parameters of `base` and its own; it gets each by the name in `base`.

    `without`: parameters that the operator lacks. renamed: what it calls a parameter of `base`.
    """
    names = {new: name for name, new in renamed.items()}

    def take_parameters(function: Callable[..., Result]) -> Callable[..., Result]:
        own = [value for value in inspect.signature(function).parameters.values() if value.kind != value.VAR_KEYWORD]
        inherited = [
            value.replace(name=renamed.get(name, name))
            for name, value in inspect.signature(base).parameters.items()
            if name not in (*without, *(value.name for value in own))
        ]
        signature = inspect.signature(function).replace(parameters=[*inherited, *own])
        return _bind_to(
            signature, function, lambda by_name: function(**{names.get(k, k): v for k, v in by_name.items()})
        )

    return take_parameters


def registered_references() -> dict[str, Reference]:
    return dict(_references)
