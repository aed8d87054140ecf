"""Makes the references operators of PyTorch for the simulated NPU: their schemas, in a namespace apart."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, Callable

import torch
from torch import Tensor
from torch._ops import OpOverload

from . import all_references
from .registry import Reference

NAMESPACE = "_npu_sim_references"
_libraries: list[torch.library.Library] = []  # a library that dies takes its operators with it


def register() -> None:
    """Register every reference whose operator this torch_npu has; the simulator's kernels call this once."""
    if _libraries:
        return
    _libraries.append(torch.library.Library(NAMESPACE, "DEF"))
    for reference in all_references().values():
        operator = _find_operator(reference.name)
        if operator is not None:
            _register_one(_libraries[0], reference, operator._schema)


def _find_operator(name: str) -> OpOverload | None:
    namespace, _, local = name.partition("::")
    base, _, overload = local.partition(".")
    packet = getattr(getattr(torch.ops, namespace), base, None)
    return getattr(packet, overload or "default", None)


def _register_one(library: torch.library.Library, reference: Reference, schema: torch.FunctionSchema) -> None:
    text = str(schema).partition("::")[2]
    if reference.random:
        text = _with_generator(text)
    library.define(text)
    library.impl(text.partition("(")[0], _make_kernel(reference, schema), "CompositeExplicitAutograd")


def _with_generator(schema: str) -> str:
    """Add an argument at the end, in which the native kernel passes a generator of the NPU's stream."""
    name, _, rest = schema.partition("(")
    arguments, arrow, result = rest.rpartition(") -> ")
    star = "" if "*," in arguments else "*, "
    return f"{name}({arguments}{', ' if arguments else ''}{star}Generator? generator=None{arrow}{result}"


def _make_kernel(reference: Reference, schema: torch.FunctionSchema) -> Callable[..., object]:
    names = [argument.name for argument in schema.arguments]
    written = {a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write}
    accepted = set(inspect.signature(reference.function).parameters)
    defaults = {argument.name: argument.default_value for argument in schema.arguments}

    def run_reference(*args: object, **kwargs: object) -> object:
        arguments = {**dict(zip(names, args)), **kwargs}
        _check_dtypes(reference, arguments)
        for name in arguments.keys() - accepted - set(reference.writes):
            if arguments[name] is not None and arguments[name] != defaults.get(name):
                raise NotImplementedError(f"the NPU simulator lacks {reference.name} with {name}")
        with torch._C.DisableTorchFunction():  # set_default_device and other modes of the user stop here
            result = reference.function(**{name: arguments[name] for name in arguments if name in accepted})
            read_only = [
                value for name, value in arguments.items() if name not in written and name not in reference.writes
            ]
            if reference.writes:
                outputs = list(_tensors_in([arguments[name] for name in reference.writes]))
                # an empty `out` gets its shape (op-plugin's CheckOut, as PyTorch's out=); ATB and CANN give none
                resizes = reference.name.endswith("out") and not reference.name.startswith("atb::")
                grow = resizes and written.issuperset(reference.writes)
                _check_outputs(reference.name, outputs, result, grow)
                return _write_outputs(outputs, result, read_only, len(schema.returns))
            return _separate_memory(result, read_only)

    return run_reference


def _check_dtypes(reference: Reference, arguments: dict[str, object]) -> None:
    for name, allowed in reference.dtypes.items():
        for tensor in _tensors_in(arguments.get(name)):
            if tensor.dtype not in allowed:
                supported = ", ".join(str(dtype).removeprefix("torch.") for dtype in allowed)
                raise RuntimeError(
                    f"{reference.name}: Tensor {name} not implemented for {tensor.dtype}, should be in dtype support "
                    f"list [{supported}] (torch_npu's documentation; the NPU simulator refuses what an Ascend A2 does)"
                )


def _tensors_in(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors_in(item)


def _check_outputs(name: str, outputs: list[Tensor], result: Any, grow: bool) -> None:
    """Check before anything is written: memory of another size or dtype would not hold the result."""
    for output, value in zip(outputs, (result,) if isinstance(result, Tensor) else result):
        fits = output.shape == value.shape or (grow and output.numel() == 0)
        if output.dtype != value.dtype or not fits:
            raise RuntimeError(
                f"{name}: the result is {list(value.shape)} of {value.dtype}, but the tensor it is to be written to is "
                f"{list(output.shape)} of {output.dtype}"
            )


def _write_outputs(outputs: list[Tensor], result: Any, read_only: list[object], returns: int) -> Any:
    """Write the first results; return what the operator does: all, those beyond the written, or the written ones."""
    values = (result,) if isinstance(result, Tensor) else result
    for output, value in zip(outputs, values):
        if output.shape != value.shape:
            output.resize_(value.shape)
        output.copy_(value)
    rest = [_separate_memory(value, read_only) for value in values[len(outputs) :]]
    returned = [*outputs, *rest] if returns == len(values) else rest or outputs
    if returns == 0:
        return None
    return returned[0] if len(returned) == 1 else tuple(returned)


def _separate_memory(result: Any, inputs: list[object]) -> Any:
    """Return a result that shares memory with an input, or with a larger tensor, as a tensor of its own."""
    borrowed = {tensor.untyped_storage().data_ptr() for value in inputs for tensor in _tensors_in(value)}

    def own_tensor(value: object) -> Any:
        if isinstance(value, Tensor):
            storage = value.untyped_storage()
            shares = storage.data_ptr() in borrowed and storage.nbytes() > 0
            return value.clone() if shares or storage.nbytes() > value.numel() * value.element_size() else value
        return type(value)(map(own_tensor, value)) if isinstance(value, (list, tuple)) else value

    return own_tensor(result)
