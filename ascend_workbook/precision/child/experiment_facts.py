"""Rides in the training process: what makes a run the experiment that it is, read without disturbing it.

`side["experiment"]` of a capture holds, as far as each could be read (what could not is absent):
seeds       {"torch": int, "python" and "numpy": hash of the state, "calls": [{"call", "seed"}]} at the first forward
modules     {path: [class, extra_repr]}; dtypes {dtype: parameters}; weights {name: [norm, values...]}
sketches    {name: [sums...]} of the floating weights: their differences have the size of the weights' difference
batches     {iteration: [{"samples": [hash per sample], "numbers": [norm, values...]} per tensor]}
optimizers  [{"class", "groups": [{"lr": ..., "betas": ..., "parameters": count}]}] at each one's first update
rates       {iteration: [learning rate per group, over all optimizers]}; schedulers [{"class", name: number}]
autocast    [[enabled, dtype]] of every autocast that was entered; scaler {"init_scale", ...} of the GradScaler
loss        name of the node that made the loss; loaders [{"sampler", "batch_size", ...}] of every DataLoader
imported    names of the packages that were imported by then"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import math
import random
import sys
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from ascend_workbook.machine.launch.child.observer import Observer

#: Iterations whose batches are fingerprinted.
MOST_ITERATIONS = 200
MOST_CALLS = 40
#: Nodes between a loss and the root of backward: scaling, sums of several losses, casts, shapes.
PASSED = ("Mul", "Div", "Add", "Sub", "Neg", "ToCopy", "View", "Unsqueeze", "Squeeze", "Alias", "Clone", "Mean", "Sum")
SCALER = ("init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled")


#: Values of a tensor that are kept beside its norm: enough to tell a scaled tensor from another one.
KEPT = 8
#: Batches of more samples have no fingerprint per sample.
MOST_SAMPLES = 4096


def _load_sketching() -> Any:
    spec = importlib.util.spec_from_file_location("_workbook_sketch", Path(__file__).with_name("sketch.py"))
    if spec is None or spec.loader is None:
        raise ImportError("sketch.py cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sketching = _load_sketching()


class Facts:
    """`told` grows as the script goes on; `install` is called before its first line."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self.told: dict[str, Any] = {"loss": None}
        mappings = ("seeds", "modules", "dtypes", "weights", "sketches", "batches", "rates", "scaler")
        self.told.update({name: {} for name in (*mappings, "further_samples")})
        self.told.update({name: [] for name in ("optimizers", "schedulers", "autocast", "loaders", "imported")})
        self._calls: list[dict[str, object]] = []
        self._schedulers: list[weakref.ref[object]] = []
        self._updated: list[weakref.ref[torch.optim.Optimizer]] = []

    def install(self) -> None:
        """Watches what a script makes: autocast, scalers, schedulers, loaders, generators of numpy, losses."""
        _call_after(torch.autocast, "__enter__", self._note_autocast)
        for scaler in _scaler_classes():
            _call_after(scaler, "__init__", self._note_scaler)
        schedulers = self._schedulers
        _call_after(torch.optim.lr_scheduler.LRScheduler, "__init__", lambda this: schedulers.append(weakref.ref(this)))
        _call_after(torch.utils.data.DataLoader, "__init__", self._note_loader)
        self._watch_numpy()
        losses: Any = self.observer.losses
        original = losses.backward_from

        def backward_from(tensors: torch.Tensor | Iterable[torch.Tensor]) -> None:
            self._note_loss(tensors)
            original(tensors)

        losses.backward_from = backward_from

    def model(self, model: torch.nn.Module) -> None:
        """Just before the first forward."""
        # torch's seed; of random and numpy, which do not tell theirs, a hash of the state
        states: dict[str, object] = {"torch": torch.initial_seed(), "python": _hash_value(random.getstate())}
        numpy: Any = sys.modules.get("numpy")
        if numpy is not None:
            kind, keys, place, *rest = numpy.random.get_state()
            states["numpy"] = _hash_value((kind, keys.tobytes(), place, rest))
        self.told["seeds"] = {**states, "calls": [*self.observer.log.content["meta"]["seeds"], *self._calls]}
        self.told["imported"] = sorted({name.partition(".")[0] for name in sys.modules if not name.startswith("_")})
        modules = {name: [type(module).__name__, module.extra_repr()] for name, module in model.named_modules()}
        self.told["modules"] = modules
        for parameter in model.parameters():
            name = str(parameter.dtype).rpartition(".")[2]
            self.told["dtypes"][name] = self.told["dtypes"].get(name, 0) + parameter.numel()
        with torch.no_grad():
            state = [pair for pair in model.state_dict().items() if isinstance(pair[1], torch.Tensor)]
            self.told["weights"] = {name: list_numbers(value) for name, value in state}
            self.told["sketches"] = {name: sketch_values(value) for name, value in state if value.is_floating_point()}

    def batch(self, iteration: int, tensors: list[torch.Tensor]) -> None:
        """What the first forward of an iteration is given."""
        if len(self.told["batches"]) < MOST_ITERATIONS:
            prints_of_batch = [{"samples": hash_samples(tensor), "numbers": list_numbers(tensor)} for tensor in tensors]
            self.told["batches"].setdefault(str(iteration), prints_of_batch)

    def add_batch(self, iteration: int, tensors: list[torch.Tensor]) -> None:
        """What a further forward of the same module is given in an iteration: a step of several small batches."""
        if str(iteration) in self.told["batches"]:
            samples = next((own for own in map(hash_samples, tensors) if own), [])
            self.told["further_samples"].setdefault(str(iteration), []).extend(samples)

    def update(self, iteration: int, optimizer: torch.optim.Optimizer) -> None:
        """Before an update."""
        rates = [_to_json_value(group.get("lr")) for group in optimizer.param_groups]
        self.told["rates"].setdefault(str(iteration), []).extend(rates)
        # by reference: the number of one that is gone is given to the next
        if not any(ref() is optimizer for ref in self._updated):
            self._updated.append(weakref.ref(optimizer))
            groups = [
                {
                    **{name: _to_json_value(group[name]) for name in group if name not in ("params", "param_names")},
                    "parameters": sum(parameter.numel() for parameter in group["params"]),
                }
                for group in optimizer.param_groups
            ]
            inner = getattr(optimizer, "optim", None)
            own = inner if isinstance(inner, torch.optim.Optimizer) else optimizer
            self.told["optimizers"].append({"class": type(own).__name__, "groups": groups})
            # each once: how long one that the script dropped lives on is the collector's affair
            alive = [scheduler for scheduler in (ref() for ref in self._schedulers) if scheduler is not None]
            self._schedulers.clear()
            self.told["schedulers"] += [
                {
                    "class": type(scheduler).__name__,
                    **{
                        name: value
                        for name, value in vars(scheduler).items()
                        if not name.startswith("_") and name != "last_epoch" and isinstance(value, (int, float))
                    },
                }
                for scheduler in alive
            ]

    def _note_autocast(self, entered: Any) -> None:
        setting = [bool(entered._enabled), str(entered.fast_dtype).rpartition(".")[2]]
        if self.observer.active and setting not in self.told["autocast"]:
            self.told["autocast"].append(setting)

    def _note_scaler(self, scaler: object) -> None:
        self.told["scaler"] = {name: _to_json_value(getattr(scaler, f"_{name}", None)) for name in SCALER}

    def _note_loader(self, loader: torch.utils.data.DataLoader[object]) -> None:
        if not self.observer.active or len(self.told["loaders"]) >= MOST_CALLS:
            return
        dataset, sampler, generator = loader.dataset, loader.sampler, loader.generator
        self.told["loaders"].append(
            {
                "dataset": type(dataset).__name__,
                "length": len(dataset) if hasattr(dataset, "__len__") else None,
                "sampler": type(sampler).__name__,
                "batch_size": loader.batch_size,
                "drop_last": loader.drop_last,
                "seed": _to_json_value(getattr(sampler, "seed", None)),
                "generator": generator.initial_seed() if generator is not None else None,
            }
        )

    def _note_loss(self, tensors: torch.Tensor | Iterable[torch.Tensor]) -> None:
        node = getattr(tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None), "grad_fn", None)
        while node is not None and node.name().startswith(PASSED):
            node = next((next_node for next_node, _ in node.next_functions if next_node is not None), None)
        if node is not None and self.told["loss"] is None:
            self.told["loss"] = node.name().rstrip("0123456789")

    def _watch_numpy(self) -> None:
        try:
            import numpy
        except ModuleNotFoundError:
            return  # torch runs without numpy, and then the script has none of its generators
        generators: Any = numpy.random
        original = generators.default_rng

        @functools.wraps(original)
        def default_rng(*args: object, **kwargs: object) -> object:
            seed = next(iter((*args, *kwargs.values())), None)
            number = seed if isinstance(seed, int) else None
            entry: dict[str, object] = {"call": "numpy.random.default_rng", "seed": number}
            if len(self._calls) < MOST_CALLS and entry not in self._calls:
                self._calls.append(entry)
            return original(*args, **kwargs)

        generators.default_rng = default_rng


def _call_after(owner: object, name: str, tell: Callable[[Any], object]) -> None:
    """Calls `tell(self)` after each call of a method."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def call(self: object, *args: object, **kwargs: object) -> object:
        result = original(self, *args, **kwargs)
        tell(self)
        return result

    setattr(owner, name, call)


def _scaler_classes() -> list[type]:
    """GradScaler and the classes made from it that have an `__init__` of their own, as torch_npu's."""
    classes: list[type] = []
    waiting = [getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler]  # torch before 2.3
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if "__init__" in vars(cls) and cls not in classes:
            classes.append(cls)
    return classes


def _hash_value(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:12]


def _to_json_value(value: object) -> object:
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return float(value)
    if isinstance(value, (list, tuple)):
        return [_to_json_value(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)[:80]


def fingerprint(value: object) -> str:
    """dtype, shape and the first 16 hex digits of the bytes' SHA-256."""
    if not isinstance(value, torch.Tensor):
        return repr(value)[:80]
    digest = hashlib.sha256(_bytes_of(value)).hexdigest()[:16]
    return f"{str(value.dtype).rpartition('.')[2]}{list(value.shape)}:{digest}"


def hash_samples(value: torch.Tensor) -> list[str]:
    """12 hex digits for every row of dimension 0, in order; empty for a scalar and for very many rows."""
    if value.dim() == 0 or not 0 < value.shape[0] <= MOST_SAMPLES:
        return []
    raw, count = _bytes_of(value), value.shape[0]
    size = len(raw) // count
    return [hashlib.sha256(raw[at * size : (at + 1) * size]).hexdigest()[:12] for at in range(count)]


def list_numbers(value: torch.Tensor) -> list[float | None]:
    """The L2 norm and up to KEPT evenly spaced values, in float64; None for one that is not finite."""
    value = take_local(value)
    if not value.numel() or value.is_complex() or value.layout != torch.strided:
        return []
    flat = value.detach().to("cpu").reshape(-1)
    step = max(1, flat.numel() // KEPT)
    real = flat if flat.is_floating_point() else flat.double()
    values = map(float, (torch.linalg.vector_norm(real, dtype=torch.float64), *flat[::step][:KEPT]))
    return [number if math.isfinite(number) else None for number in values]


def sketch_values(value: torch.Tensor) -> list[float | None]:
    """The tensor's sketch; empty where there is none of its layout."""
    value = take_local(value)
    if not value.numel() or value.is_complex() or value.layout != torch.strided:
        return []
    flat = value.detach().reshape(-1)[:: sketching.stride_of(value.numel())].to("cpu", torch.float64)
    return [number if math.isfinite(number) else None for number in sketching.sketch(flat.numpy()).tolist()]


def list_leaves(value: object) -> list[object]:
    """What lists, tuples and dictionaries hold, in order."""
    value = list(value.values()) if isinstance(value, dict) else value
    return [leaf for item in value for leaf in list_leaves(item)] if isinstance(value, (list, tuple)) else [value]


def take_local(value: Any) -> torch.Tensor:
    """This rank's part of a DTensor; any other tensor as it is."""
    local: torch.Tensor = value.to_local() if hasattr(value, "to_local") else value
    return local


def _bytes_of(value: torch.Tensor) -> bytes:
    plain = take_local(value.detach()).to("cpu").contiguous()
    raw = plain.reshape(-1).view(torch.uint8) if plain.numel() else torch.empty(0, dtype=torch.uint8)
    return bytes(raw.numpy().tobytes())
