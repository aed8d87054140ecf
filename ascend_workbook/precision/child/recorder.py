"""What every module of a model is given and gives, copied to the CPU while the model runs one input.

Imports torch and nothing of ours: it works in a notebook's process and in a child alike. A call is a dictionary:
{"path", "kind", "number", "inside", "inputs", "outputs"}; `number` counts the calls of one module from 0, `inside` the
calls that ended while it ran, all its own. Tensors are {"slot", "dtype", "shape", "values"}, values flat numpy arrays;
one that passes from module to module unchanged is copied once. numpy lacks bfloat16 and 8-bit floats: these become
float32, and `dtype` keeps their name."""

from __future__ import annotations

import hashlib
import math
import random
import weakref
from collections.abc import Iterator
from itertools import chain
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch

#: Modules that draw random numbers, or whose result depends on the rest of the batch, while they are in training mode.
MODE_MATTERS = ("Dropout", "DropPath", "StochasticDepth", "RReLU", "BatchNorm", "InstanceNorm")
#: Modules of torch that hold a model whole, and the name under which they do.
WRAPPERS = {
    "DistributedDataParallel": "module",
    "DataParallel": "module",
    "OptimizedModule": "_orig_mod",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
}
#: Their attributes are no results.
NO_RESULTS = (torch.nn.Module, type, ModuleType, FunctionType, MethodType)
#: dtypes that torch has as well.
NUMPY = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")


class Recorder:
    """Hooks on every module while the `with` block runs; none is left behind."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model
        self.calls: list[dict[str, object]] = []
        self.running: list[dict[str, Any]] = []
        self.counts: dict[str, int] = {}
        self.known: dict[int, tuple[Any, int, object]] = {}
        self.handles: list[Any] = []

    def __enter__(self) -> Recorder:
        for path, module in plain_modules(self.model):
            self.handles.append(module.register_forward_pre_hook(self._make_pre_hook(path), with_kwargs=True))
            self.handles.append(module.register_forward_hook(self._record_call, with_kwargs=True))
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
        self.known.clear()

    def _make_pre_hook(self, path: str) -> object:
        def hook(module: torch.nn.Module, args: object, kwargs: object) -> None:
            number = self.counts[path] = self.counts.get(path, -1) + 1
            call = {
                "path": path,
                "kind": type(module).__name__,
                "number": number,
                "inside": len(self.calls),
                "known": type(module).__module__.startswith("torch.nn.modules."),
                "inputs": [self._record_tensor(slot, tensor) for slot, tensor in leaves([args, kwargs], "input")],
            }
            self.running.append(call)

        return hook

    def _record_call(self, module: torch.nn.Module, args: object, kwargs: object, result: object) -> None:
        call = self.running.pop()
        call["inside"] = len(self.calls) - call["inside"]
        call["outputs"] = [self._record_tensor(slot, value) for slot, value in results(result, "output", set())]
        self.calls.append(call)

    def _record_tensor(self, slot: str, value: torch.Tensor) -> dict[str, object]:
        version = -1 if value.is_inference() else value._version
        copy = self.known.get(id(value))
        if copy is None or copy[0]() is not value or copy[1] != version or version < 0:
            copy = weakref.ref(value), version, array(value)
            self.known[id(value)] = copy
        return {"slot": slot, "dtype": name(value), "shape": list(value.shape), "values": copy[2]}


def array(value: torch.Tensor) -> Any:
    """Copy a tensor to the CPU, flat."""
    plain = value.detach()
    plain = plain.dequantize() if plain.is_quantized else plain.to_dense() if plain.layout != torch.strided else plain
    plain = plain.resolve_conj().resolve_neg().to("cpu", copy=True).reshape(-1)
    try:
        return plain.numpy()
    except TypeError:
        return (plain.to(torch.complex64) if plain.is_complex() else plain.float()).numpy()


def name(value: torch.Tensor) -> str:
    return str(value.dtype).rpartition(".")[2]


def leaves(value: object, slot: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor of a nested value with its place: `input.0`, `output.logits`."""
    if isinstance(value, torch.Tensor):
        yield slot, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{slot}.{key}")
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from leaves(item, f"{slot}.{number}")
    elif hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        for key in value.__dataclass_fields__:
            yield from leaves(getattr(value, key), f"{slot}.{key}")


def results(value: object, slot: str, entered: set[int]) -> Iterator[tuple[str, torch.Tensor]]:
    """As `leaves`, of what a module gives: numbers of Python and numpy too, as tensors, and what objects hold in their
    attributes. `entered` are ids of objects, each of which is read once."""
    number = as_tensor(value)
    if number is not None:
        yield slot, number
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from results(item, f"{slot}.{key}", entered)
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            yield from results(item, f"{slot}.{at}", entered)
    elif not isinstance(value, NO_RESULTS) and id(value) not in entered:
        entered.add(id(value))
        names = getattr(value, "__dataclass_fields__", None) or getattr(value, "__dict__", {})
        for key in names:
            yield from results(getattr(value, key), f"{slot}.{key}", entered)


def as_tensor(value: object) -> torch.Tensor | None:
    """A tensor as it is, a number as one without dimensions, a numpy array as one; None of anything else. Python's
    floats come from the model's own: they are of the default dtype where that can hold them."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return torch.from_numpy(np.array(value)) if value.dtype.name in NUMPY else None
    if isinstance(value, float):
        tensor = torch.tensor(value, device="cpu")
        return tensor if tensor.isinf() == math.isinf(value) else tensor.new_tensor(value, dtype=torch.float64)
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return torch.tensor(float(value), dtype=torch.float64, device="cpu")
    return torch.tensor(value, device="cpu") if isinstance(value, (bool, int, complex)) else None


def change_tensors(value: object, change: Any) -> Any:
    """The same nested value with every tensor changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: change_tensors(item, change) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(change_tensors(item, change) for item in value))
    return type(value)(change_tensors(item, change) for item in value) if isinstance(value, (list, tuple)) else value


def fingerprint(value: object) -> str:
    """Of the tensors of a nested value: the first 16 hex digits of the SHA-256 of places, dtypes, shapes and bytes."""
    hasher = hashlib.sha256()
    for slot, tensor in leaves(value, ""):
        hasher.update(f"{slot}:{name(tensor)}{list(tensor.shape)}".encode())
        hasher.update(array(tensor).tobytes())
    return hasher.hexdigest()[:16]


def dtype_of(model: torch.nn.Module) -> str:
    """The one floating dtype of all parameters; empty where there are several or none."""
    names = {name(value) for value in model.parameters() if value.is_floating_point()}
    return names.pop() if len(names) == 1 else ""


def device_of(model: torch.nn.Module) -> torch.device:
    """Return the device of the model's first parameter or buffer; the CPU where it has none."""
    return next((value.device for value in chain(model.parameters(), model.buffers())), torch.device("cpu"))


def wraps(module: torch.nn.Module) -> str:
    """The name under which a wrapper of torch holds its model; empty of any other module."""
    known = type(module).__module__.startswith("torch.")
    return WRAPPERS.get(type(module).__name__, "") if known else ""


def wrapper_prefixes(model: torch.nn.Module) -> list[tuple[str, str]]:
    """What its wrappers put before the paths of modules (`block._orig_mod.`) and what stands there without (`block.`),
    innermost first."""
    outside = [(f"{path}." if path else "", name) for path, module in model.named_modules() if (name := wraps(module))]
    return [(f"{before}{name}.", before) for before, name in reversed(outside)]


def plain(path: str, prefixes: list[tuple[str, str]]) -> str:
    """A path without its wrappers: `module.fc` of DistributedDataParallel is `fc`."""
    for prefix, before in prefixes:
        if f"{path}.".startswith(prefix):
            path = before + path[len(prefix) :]
    return path.rstrip(".")


def plain_modules(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """As named_modules, without wrappers: the model they hold has their path."""
    prefixes = wrapper_prefixes(model)
    for path, module in model.named_modules():
        if not wraps(module):
            yield plain(path, prefixes), module


def about(model: torch.nn.Module) -> dict[str, Any]:
    """What tells two models apart before they run: dtype, device, mode, settings, weights' fingerprints."""
    modules = [(path, module, type(module)) for path, module in plain_modules(model)]
    odd = [path for path, module, kind in modules if module.training and any(w in kind.__name__ for w in MODE_MATTERS)]
    torchs = [(path, module, kind) for path, module, kind in modules if kind.__module__.startswith("torch.nn.")]
    _, own, kind = modules[0]  # a wrapper has a mode of its own, which says nothing
    state = [(key, value) for key, value in model.state_dict().items() if isinstance(value, torch.Tensor)]
    return {
        "model": kind.__name__,
        "dtype": dtype_of(model),
        "device": str(device_of(model)),
        "training": bool(own.training),
        "mode_matters": odd,
        "settings": {path: f"{kind.__name__}({module.extra_repr()})" for path, module, kind in torchs},
        "weights": {plain(key, wrapper_prefixes(model)): fingerprint(value) for key, value in state},
    }


def forward(model: torch.nn.Module, model_input: object, seed: int) -> dict[str, object]:
    """Run one input without gradients, the random generators beginning at `seed`.

    Afterwards the generators are as they were, and so are buffers that the run changed (running means of a model in
    training mode): one input's run does not depend on others. A float64 model makes float64 tensors, also where its
    code names no dtype.

    `model_input` is a tensor, a tuple or list of arguments, or a dictionary of named ones. Returns {"calls",
    "fingerprint", "drew", "cast", "error", "at"}: `drew` tells whether random numbers were drawn, `cast` to which
    dtype the input's floats were brought because the model has that one alone, `error` and `at` what the model raised
    and in which module."""
    device, dtype, default = device_of(model), dtype_of(model), torch.get_default_dtype()
    cast = ""

    def move(value: torch.Tensor) -> torch.Tensor:
        nonlocal cast
        if dtype and value.is_floating_point() and name(value) != dtype:
            cast = dtype
            return value.to(device, getattr(torch, dtype))
        return value.to(device)

    moved = change_tensors(model_input, move)
    training = any(module.training for module in model.modules())
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()] if training else []
    states_before = states(device)
    seed_all(seed)
    begun = states(device)
    if dtype == "float64":
        torch.set_default_dtype(torch.float64)
    with Recorder(model) as recorder, torch.no_grad():
        try:
            error, at = _run_model(model, moved, recorder)
        finally:
            torch.set_default_dtype(default)
            drew = not _same_states(states(device), begun)
            restore(device, states_before)
            for buffer, value in buffers:
                buffer.copy_(value)
    facts = {"fingerprint": fingerprint(model_input), "drew": drew, "cast": cast, "error": error, "at": at}
    return {"calls": recorder.calls, **facts}


def _run_model(model: torch.nn.Module, model_input: object, recorder: Recorder) -> tuple[str, str]:
    """What the model raised and where; two empty texts where it raised nothing."""
    try:
        if isinstance(model_input, dict):
            model(**model_input)
        else:
            model(*(model_input if isinstance(model_input, (list, tuple)) else (model_input,)))
    except Exception as raised:  # noqa: BLE001 - whatever a model raises is what this input came to
        text = (str(raised).strip().splitlines() or [""])[0]
        return f"{type(raised).__name__}: {text}"[:400], recorder.running[-1]["path"] if recorder.running else ""
    return "", ""


def seed_all(seed: int) -> None:
    """Python's, numpy's and torch's generators, those of every device."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def states(device: torch.device) -> list[object]:
    """The states of Python's, numpy's, the CPU's and the device's generators."""
    own = [getattr(torch, device.type).get_rng_state(device)] if device.type != "cpu" else []
    return [random.getstate(), np.random.get_state(), torch.get_rng_state(), *own]


def restore(device: torch.device, saved: list[Any]) -> None:
    random.setstate(saved[0])
    np.random.set_state(saved[1])
    torch.set_rng_state(saved[2])
    if len(saved) > 3:
        getattr(torch, device.type).set_rng_state(saved[3], device)


def _same_states(left: list[Any], right: list[Any]) -> bool:
    numpys = [(state[1].tobytes(), state[2:]) for state in (left[1], right[1])]
    return left[0] == right[0] and numpys[0] == numpys[1] and all(map(torch.equal, left[2:], right[2:]))
