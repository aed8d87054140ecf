"""Rides in the training process: norms of gradients, weights, updates and activations of every step, and alarms.

Loaded by path. Every step: the norm of each parameter's gradient before its update (one `_foreach_norm`), the loss, the
learning rate and the loss scale. Every step a part of the parameters in turn: the weight's norm and how far the update
moved it. Every so many steps: the norm of what each module gave. And whether each weight is what the update before
left: exactly on the CPU, by its norm and in turn exactly on a device. Numbers stay on the device until `every` steps
are there, and then leave it together. Written line by line to `watch.jsonl`, which a killed run leaves readable."""

from __future__ import annotations

import functools
import importlib.util
import json
import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import torch
import torch.nn.utils.clip_grad as clip_grad

if TYPE_CHECKING:
    from ascend_workbook.machine.launch.child.observer import Observer

SCHEMA = "ascend-workbook/watch/1"
#: Lines reach the disk at least so often.
WRITE_EVERY_S = 0.5
#: Steps between the states that are kept for an alarm, and how many alarms have theirs written.
KEEP_EVERY, KEPT = 50, 2
#: Most modules whose activations are measured.
MODULES = 200
#: Of a device one in so many weights is read exactly at each step.
EXACT_TURN = 16
PREFIXES = ("module.", "_orig_mod.", "_fsdp_wrapped_module.")

_raw = torch._C._VariableFunctions
_base = torch._C.TensorBase
_detach, _stack, _cat, _foreach_norm = _base.detach, _raw.stack, _raw.cat, _raw._foreach_norm
_norm, _to, _tolist = torch._C._linalg.linalg_vector_norm, _base.to, _base.tolist
_clone, _no_grad = _raw.clone, torch.no_grad


class Config(TypedDict):
    """`update_every`: each weight's update is measured once in so many steps; `activation_every`: steps between two
    looks at activations (0: none); `every`: steps whose numbers leave a device together (0: chosen by the device);
    `limit_bytes` of the file, `state_bytes` of a state that is kept (0: none)."""

    update_every: int
    activation_every: int
    every: int
    limit_bytes: int
    state_bytes: int


def attach(observer: Observer, config: Config) -> None:
    """Watch every step of the run."""
    recorder = Recorder(observer.out, config, observer.rank, observer.world_size, observer.log.secrets)
    observer.on_model(recorder.add_model)
    observer.on_update(lambda optimizer: recorder.begin_update(optimizer, observer.models))
    observer.on_updated(recorder.end_update)
    observer.on_step(lambda step: recorder.end_step(step["loss"], step["lr"]))
    observer.on_skip(recorder.skip_step)
    observer.on_end(recorder.finish)
    watch_clipping(recorder)
    watch_scaling(recorder)


def load_rules() -> ModuleType:
    """Load the rules that lie beside this file."""
    path = Path(__file__).with_name("watch_rules.py")
    spec = importlib.util.spec_from_file_location("_workbook_watch_rules", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Recorder:
    """Measures one process; an error of its own ends the watching, not the training."""

    def __init__(self, out: Path, config: Config, rank: int, world_size: int, secrets: Sequence[str] = ()) -> None:
        self.config = config
        self.rank, self.world_size = rank, world_size
        self.models: list[torch.nn.Module] = []
        self.scaler: Any = None
        self.seconds = 0.0
        self.step = 0
        self.skipped = 0
        self.alarms: list[dict[str, Any]] = []
        self.on_alarm: Callable[[dict[str, Any]], None] | None = None
        self.error: str | None = None
        self.file = _File(out / ("watch.jsonl" if rank == 0 else f"watch.rank{rank}.jsonl"), config, secrets)
        self.weights = _Weights()
        self.activations = _Activations(config["activation_every"])
        self.states = _States(out / "states", config["state_bytes"], rank)
        self._rules = load_rules().Rules()
        self._names: list[str] = []
        self._parameters: list[torch.Tensor] = []
        self._places: dict[int, int] = {}
        self._optimizers: list[torch.optim.Optimizer] = []
        self._clipped: list[tuple[list[torch.Tensor], Any]] = []
        self._entry = _Entry()
        self._pending: list[_Entry] = []
        self._sampled: list[tuple[int, torch.Tensor, bool]] = []

    # What happens in the training

    def add_model(self, model: torch.nn.Module) -> None:
        """Take a model before its first forward."""
        if all(model is not known for known in self.models):
            self.models.append(model)
        with _Clock(self):
            if self.step == 0:
                self.activations.begin_step(0, self.models)

    def begin_update(self, optimizer: torch.optim.Optimizer, models: Iterable[torch.nn.Module] = ()) -> None:
        """Measure the gradients and the weights that an optimizer is about to use."""
        with _Clock(self), _no_grad():
            for model in models:
                if all(model is not known for known in self.models):
                    self.models.append(model)
            places = self._know_parameters(optimizer)
            self.states.keep_first(self.step, self.models, self._optimizers)
            self._measure_gradients(optimizer, places)
            result = self.weights.check(places, self._parameters, self.step)
            self._entry.checked.update(result.checked)
            self._entry.changed += result.changed
            for place, flag in result.flags:
                self._entry.add(("flag", place), flag)
            turn = max(1, self.config["update_every"])
            rates = _rates_of(optimizer)
            self._sampled = []
            for place in places:
                if place % turn == self.step % turn:
                    value = _plain(self._parameters[place])
                    moves = rates.get(id(self._parameters[place]), 0.0) > 0
                    self._sampled.append((place, _clone(value), moves and self._parameters[place].grad is not None))

    def end_update(self, optimizer: torch.optim.Optimizer) -> None:
        """Measure how far an optimizer moved the weights of this turn, and note what it left."""
        with _Clock(self), _no_grad():
            if self._sampled:
                before = [value for _, value, _ in self._sampled]
                moved = [_raw.sub(_plain(self._parameters[place]), old) for (place, old, _) in self._sampled]
                norms = _norms_of([*before, *moved])
                for at, (place, _, moves) in enumerate(self._sampled):
                    self._entry.updates.append((place, moves))
                    self._entry.add(("weight", place), norms[at])
                    self._entry.add(("moved", place), norms[len(before) + at])
                self._sampled = []
            places = [self._places[id(value)] for value in _parameters_of(optimizer) if id(value) in self._places]
            self.weights.note(places, self._parameters, self.step + 1)

    def end_step(self, loss: object, rate: float | None) -> None:
        """Close a step, after its last update."""
        with _Clock(self), _no_grad():
            entry, self._entry = self._entry, _Entry()
            self.step += 1
            entry.step, entry.rate, entry.skipped = self.step, rate, self.skipped
            entry.width = len(self._names)
            if isinstance(loss, torch.Tensor):
                entry.add(("loss", 0), _to(_detach(loss), torch.float32).reshape(()))
            else:
                entry.loss = loss if loss is None or isinstance(loss, (int, float)) else None
            scale = getattr(self.scaler, "_scale", None)
            if isinstance(scale, torch.Tensor):
                entry.add(("scale", 0), _clone(_detach(scale)).reshape(()))
            elif isinstance(scale, (int, float)):
                entry.scale = float(scale)
            for place, norm in self.activations.end_step():
                entry.add(("activation", place), norm)
            entry.pack()
            self._pending.append(entry)
            self.states.keep(self.step, self.models, self._optimizers)
            self.activations.begin_step(self.step, self.models)
            if len(self._pending) >= self._choose_batch(entry):
                self.flush()

    def skip_step(self) -> None:
        """Note an update that a GradScaler left out; what was measured for it is forgotten."""
        self.skipped += 1
        self._entry = _Entry()
        self._clipped = []

    def finish(self, status: str) -> None:
        """Write what is left, and how it ended."""
        with _Clock(self), _no_grad():
            self.activations.end_step()
            self.flush()
        end = {"status": status, "steps": self.step, "skipped": self.skipped, "seconds": round(self.seconds, 4)}
        end.update(kept=self.states.written, why_not=self.states.why_not, error=self.error)
        end.update(unchecked=self.weights.error, thinned=self.file.thinned)
        self.file.write({"end": end}, force=True)

    def watch_clipping(self) -> Callable[[], None]:
        """Take the norms that clipping computes; returns how to stop."""
        return watch_clipping(self)

    def flush(self) -> None:
        """Bring the numbers of the steps so far to the host, judge and write them."""
        pending, self._pending = self._pending, []
        packed = [entry.packed for entry in pending if entry.packed is not None]
        if packed:
            numbers = iter(_tolist(packed[0] if len(packed) == 1 else _cat([_to(p, packed[0].device) for p in packed])))
        for entry in pending:
            values = [next(numbers) for _ in entry.slots]
            record = entry.make_record(values, self.activations.names)
            self.file.write(record)
            for alarm in self._rules.see(record):
                self._tell(alarm)

    # What hooks tell

    def add_clipped(self, pairs: list[tuple[list[torch.Tensor], Any]]) -> None:
        """Take the norms that clipping computed of the gradients before it changed them."""
        self._clipped += pairs

    # Inside

    def _tell(self, alarm: dict[str, Any]) -> None:
        alarm = {**alarm, "rank": self.rank} if self.rank else alarm
        alarm["state"] = self.states.write(int(alarm["step"]))
        self.alarms.append(alarm)
        self.file.write({"alarm": alarm}, force=True)
        if self.on_alarm is not None:
            self.on_alarm(alarm)

    def _choose_batch(self, entry: _Entry) -> int:
        if self.config["every"]:
            return self.config["every"]
        on_device = entry.packed is not None and entry.packed.device.type != "cpu"
        return 8 if on_device else 1  # on the CPU nothing is waited for

    def _know_parameters(self, optimizer: torch.optim.Optimizer) -> list[int]:
        """Return the places of an optimizer's parameters; names of new ones are written first."""
        own = _parameters_of(optimizer)
        if all(optimizer is not known for known in self._optimizers):
            self._optimizers.append(optimizer)
        new = [parameter for parameter in own if id(parameter) not in self._places]
        if new:
            known = _name_parameters(self.models)
            taken = set(self._names)
            for parameter in new:
                name = known.get(id(parameter)) or f"optimizer{len(self._optimizers) - 1}.{len(self._names)}"
                name = name if name not in taken else f"{len(self._names)}:{name}"
                taken.add(name)
                self._places[id(parameter)] = len(self._names)
                self._names.append(name)
                self._parameters.append(parameter)
            self._rules.set_names(self._names)
            self.flush()
            self.file.write(self._describe(), force=True)
        return [self._places[id(parameter)] for parameter in own]

    def _describe(self) -> dict[str, Any]:
        device = self._parameters[0].device.type
        return {
            "schema": SCHEMA,
            "rank": self.rank,
            "world_size": self.world_size,
            "parameters": self._names,
            "sizes": [parameter.numel() for parameter in self._parameters],
            "device": device,
            "exact": "all" if device == "cpu" else f"1/{EXACT_TURN}",
            "every": {"update": self.config["update_every"], "activation": self.config["activation_every"]},
        }

    def _measure_gradients(self, optimizer: torch.optim.Optimizer, places: list[int]) -> None:
        """Keep the norm of every gradient, unscaled; beside it what it was before clipping, where it was clipped."""
        held = [place for place in places if self._parameters[place].grad is not None]
        gradients = [_plain(self._parameters[place].grad) for place in held]
        scale = getattr(optimizer, "grad_scale", None)
        for place, norm in zip(held, _norms_of(gradients)):
            self._entry.add(("gradient", place), norm if scale is None else norm / scale)
        self._entry.held.update(held)
        before = {tensor.data_ptr(): norm for tensors, norms in self._clipped for tensor, norm in zip(tensors, norms)}
        self._clipped = []
        for place, gradient in zip(held, gradients):
            if before and gradient.data_ptr() in before:
                self._entry.add(("raw", place), _to(before[gradient.data_ptr()], torch.float32).reshape(()))


class _Entry:
    """One step: what is known on the host, and 0-d tensors on the device under what they are."""

    def __init__(self) -> None:
        self.step = self.skipped = self.width = 0
        self.rate: float | None = None
        self.loss: float | None = None
        self.scale: float | None = None
        self.slots: list[tuple[str, int]] = []
        self.values: list[torch.Tensor] = []
        self.packed: torch.Tensor | None = None
        self.held: set[int] = set()
        self.updates: list[tuple[int, bool]] = []
        self.changed: list[tuple[int, str]] = []
        self.checked: set[int] = set()

    def add(self, slot: tuple[str, int], value: torch.Tensor) -> None:
        self.slots.append(slot)
        self.values.append(value)

    def pack(self) -> None:
        """Join the numbers of the step as one tensor."""
        if not self.values:
            return
        device = self.values[0].device
        values = [_to(value, torch.float32) if value.dtype != torch.float32 else value for value in self.values]
        self.packed = _stack([value if value.device == device else _to(value, device) for value in values])
        self.values = []

    def make_record(self, numbers: list[float], modules: list[str]) -> dict[str, Any]:
        by_slot = dict(zip(self.slots, numbers))
        record: dict[str, Any] = {"step": self.step, "loss": by_slot.get(("loss", 0), self.loss), "lr": self.rate}
        scale = by_slot.get(("scale", 0), self.scale)
        if scale is not None:
            record["loss_scale"] = scale
        if self.skipped:
            record["skipped"] = self.skipped
        norms = _undo_clipping(by_slot, self.held)
        record["grad_norm"] = math.sqrt(sum(norm * norm for norm in norms.values())) if norms else None
        record["gradients"] = [_shorten(norms.get(place)) for place in range(self.width)]
        if self.updates:
            record["updates"] = [
                (place, *_ratio_of(by_slot[("moved", place)], by_slot[("weight", place)]), moves)
                for place, moves in self.updates
            ]
        activations = [(place, number) for (kind, place), number in by_slot.items() if kind == "activation"]
        if activations:
            record["activations"] = {modules[place]: _shorten(number) for place, number in activations}
        flags = [place for (kind, place), flag in by_slot.items() if kind == "flag" and flag]
        changed = [*self.changed, *((place, "silent") for place in flags)]
        if changed:
            record["changed"] = sorted(dict(reversed(changed)).items())
        if len(self.checked) < self.width:
            record["checked"] = sorted(self.checked)
        return record


def _undo_clipping(by_slot: dict[tuple[str, int], float], held: set[int]) -> dict[int, float]:
    """The norms as they were before clipping: what the update used, over the factor that clipping multiplied by.

    The factor is the median over the parameters, so that a gradient that was changed after clipping shows."""
    norms = {place: by_slot[("gradient", place)] for place in held}
    factors = []
    for place, norm in norms.items():
        raw = by_slot.get(("raw", place))
        if raw is not None and not math.isfinite(raw):
            return {other: by_slot.get(("raw", other), value) for other, value in norms.items()}
        if raw and norm > 0 and math.isfinite(norm):
            factors.append(norm / raw)
    factor = sorted(factors)[len(factors) // 2] if factors else 0.0
    return {place: norm / factor for place, norm in norms.items()} if factor > 0 else norms


def _ratio_of(moved: float, weight: float) -> tuple[float | None, float]:
    """(how far it moved as a share of the weight, the weight's norm)"""
    return (_shorten(moved / weight) if weight > 0 else None), _shorten(weight) or 0.0


def _shorten(value: float | None) -> float | None:
    return value if value is None or not math.isfinite(value) else float(f"{value:.4g}")


def _parameters_of(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _rates_of(optimizer: torch.optim.Optimizer) -> dict[int, float]:
    """The learning rate of each parameter."""
    rates: dict[int, float] = {}
    for group in optimizer.param_groups:
        rate = float(group.get("lr", 1.0))
        rates.update(dict.fromkeys(map(id, group["params"]), rate))
    return rates


def _plain(value: torch.Tensor | None) -> torch.Tensor:
    """This rank's own elements, dense and real."""
    assert value is not None
    value = value.to_local() if hasattr(value, "to_local") else value
    if value.layout != torch.strided:
        value = value.coalesce().values()
    value = _detach(value)
    return torch.view_as_real(value) if value.is_complex() else value


def _norms_of(values: list[torch.Tensor]) -> list[torch.Tensor]:
    """The L2 norm of each, 0-d float32 on its device; half precision is summed in float32."""
    norms: list[Any] = [None] * len(values)
    kinds: dict[tuple[torch.device, torch.dtype], list[int]] = {}
    for place, value in enumerate(values):
        kinds.setdefault((value.device, value.dtype), []).append(place)
    for (_, dtype), places in kinds.items():
        own = [values[place] for place in places]
        if dtype in (torch.float16, torch.bfloat16):
            result = [_norm(value, dtype=torch.float32) for value in own]
        else:
            result = list(_foreach_norm(own))
        for place, norm in zip(places, result):
            norms[place] = norm
    return norms


def _name_parameters(models: list[torch.nn.Module]) -> dict[int, str]:
    """The path of each parameter, without what wrappers put before it."""
    names: dict[int, str] = {}
    for number, model in enumerate(models):
        for path, parameter in model.named_parameters():
            for prefix in PREFIXES:
                path = path.replace(prefix, "") if path.startswith(prefix) or f".{prefix}" in path else path
            names.setdefault(id(parameter), path if number == 0 else f"{number}:{path}")
    return names


class _Found:
    """What a check of weights came to: places looked at, changed ones with how, and flags still on the device."""

    def __init__(self) -> None:
        self.checked: list[int] = []
        self.changed: list[tuple[int, str]] = []
        self.flags: list[tuple[int, torch.Tensor]] = []


class _Weights:
    """What each update left, to be held against what the next one finds."""

    def __init__(self) -> None:
        self.error: str | None = None
        self._left: dict[int, tuple[Any, int]] = {}
        self._norms: dict[int, torch.Tensor] = {}

    def check(self, places: list[int], parameters: list[torch.Tensor], step: int) -> _Found:
        result = _Found()
        if self.error is not None:
            return result
        try:
            self._check(places, parameters, result)
        except (RuntimeError, TypeError, ValueError) as error:
            self.error = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        return result

    def note(self, places: list[int], parameters: list[torch.Tensor], step: int) -> None:
        if self.error is not None:
            return
        try:
            on_device = [place for place in places if parameters[place].device.type != "cpu"]
            values = [_plain(parameters[place]) for place in on_device]
            self._norms.update(zip(on_device, _norms_of(values)))
            for place in places:
                parameter = parameters[place]
                if parameter.device.type == "cpu":
                    self._left[place] = _digest(parameter), parameter._version
                elif place % EXACT_TURN == step % EXACT_TURN:
                    self._left[place] = _sum_of_bits(parameter), parameter._version
        except (RuntimeError, TypeError, ValueError) as error:
            self.error = f"{type(error).__name__}: {error}".splitlines()[0][:200]

    def _check(self, places: list[int], parameters: list[torch.Tensor], result: _Found) -> None:
        on_device = [place for place in places if place in self._norms]
        norms = _norms_of([_plain(parameters[place]) for place in on_device])
        for place, norm in zip(on_device, norms):
            flag = norm != self._norms.pop(place)
            if place in self._left:
                flag = flag | (_sum_of_bits(parameters[place]) != self._left.pop(place)[0])
            result.checked.append(place)
            result.flags.append((place, flag))
        for place in places:
            if place in self._left:
                digest, version = self._left.pop(place)
                parameter = parameters[place]
                result.checked.append(place)
                if _digest(parameter) != digest:
                    result.changed.append((place, "program" if parameter._version != version else "silent"))


def _digest(parameter: torch.Tensor) -> int:
    """An exact digest of a weight on the CPU: any one bit that flips changes it."""
    value = _plain(parameter)
    flat = value.contiguous().view(-1)
    size = flat.numel() * flat.element_size()
    words = (flat if flat.dtype in (torch.float32, torch.float64) else flat.view(torch.uint8)).numpy().view(np.uint8)
    whole = size // 8 * 8
    return int(np.bitwise_xor.reduce(words[:whole].view(np.uint64), initial=0)) ^ hash(words[whole:].tobytes())


def _sum_of_bits(parameter: torch.Tensor) -> torch.Tensor:
    """The sum of a weight's bits as whole numbers, which wraps: any one bit that flips changes it."""
    value = _plain(parameter).contiguous()
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return value.view(kinds[value.element_size()]).sum(dtype=torch.int32)


class _Activations:
    """Norms of what modules without children give, at one step in so many. Hooks are there for that step alone."""

    def __init__(self, every: int) -> None:
        self.names: list[str] = []
        self._every = every
        self._places: dict[str, int] = {}
        self._hooks: list[Any] = []
        self._norms: dict[int, torch.Tensor] = {}

    def begin_step(self, step: int, models: list[torch.nn.Module]) -> None:
        """Hook the modules where the step to come is to be looked at."""
        if not self._every or step % self._every or self._hooks:
            return
        for number, model in enumerate(models):
            if _is_compiled(model):
                continue
            for path, module in model.named_modules():
                if len(self._hooks) >= MODULES or any(True for _ in module.children()):
                    continue
                name = path.replace("module.", "", 1) if path.startswith("module.") else path
                name = (name or type(module).__name__) if number == 0 else f"{number}:{name}"
                place = self._places.setdefault(name, len(self._places))
                if place == len(self.names):
                    self.names.append(name)
                self._hooks.append(module.register_forward_hook(functools.partial(self._measure, place)))

    def end_step(self) -> list[tuple[int, torch.Tensor]]:
        """Take the hooks away and return what they saw."""
        for hook in self._hooks:
            hook.remove()
        norms, self._hooks, self._norms = self._norms, [], {}
        return list(norms.items())

    def _measure(self, place: int, module: torch.nn.Module, inputs: object, output: object) -> None:
        if place in self._norms or not torch.is_grad_enabled():
            return  # recomputed by a checkpoint, or an evaluation
        first = output[0] if isinstance(output, (tuple, list)) and output else output
        if isinstance(first, torch.Tensor) and first.is_floating_point() and not hasattr(first, "to_local"):
            with _no_grad():
                self._norms[place] = _norm(_detach(first), dtype=torch.float32)


def _is_compiled(model: torch.nn.Module) -> bool:
    return any(
        hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None
        for module in model.modules()
    )


class _States:
    """Weights, optimizers and random streams, copied to the host every so many steps; the copy before an alarm's step
    is written, so that the step can be run again."""

    def __init__(self, folder: Path, limit_bytes: int, rank: int) -> None:
        self.folder, self.limit, self.rank = folder, limit_bytes, rank
        self.written: list[str] = []
        self.why_not = "" if limit_bytes else "off"
        self._kept: list[tuple[int, dict[str, Any]]] = []

    def keep_first(self, step: int, models: list[torch.nn.Module], optimizers: list[torch.optim.Optimizer]) -> None:
        if step == 0 and not self._kept:
            self._keep(step, models, optimizers)

    def keep(self, step: int, models: list[torch.nn.Module], optimizers: list[torch.optim.Optimizer]) -> None:
        if step % KEEP_EVERY == 0:
            self._keep(step, models, optimizers)

    def write(self, step: int) -> str | None:
        """Write the last state before a step and return the file's name; None where there is none to write."""
        before = [(at_step, state) for at_step, state in self._kept if at_step < step]
        if not before:
            return None
        at_step, state = before[-1]
        name = f"step{at_step}.rank{self.rank}.pt"
        if name in self.written:
            return name
        if len(self.written) >= KEPT:
            return None
        self.folder.mkdir(exist_ok=True)
        aside = self.folder / f"{name}.part"
        torch.save(state, aside)
        aside.replace(self.folder / name)
        self.written.append(name)
        return name

    def _keep(self, step: int, models: list[torch.nn.Module], optimizers: list[torch.optim.Optimizer]) -> None:
        if self.why_not:
            return
        tensors = [value for model in models for value in model.state_dict().values()]
        tensors += [value for optimizer in optimizers for value in _tensors_in(optimizer.state_dict()["state"])]
        size = sum(value.numel() * value.element_size() for value in tensors if isinstance(value, torch.Tensor))
        if 2 * size > self.limit:
            self.why_not = f"size {size}"
            self._kept = []
            return
        state = {
            "step": step,
            "models": [_copy_to_host(model.state_dict()) for model in models],
            "optimizers": [_copy_to_host(optimizer.state_dict()) for optimizer in optimizers],
            "random": _read_random_states(),
        }
        self._kept = [*self._kept[-1:], (step, state)]


def _tensors_in(content: Any) -> list[Any]:
    if isinstance(content, dict):
        return [value for inner in content.values() for value in _tensors_in(inner)]
    return [content] if isinstance(content, torch.Tensor) else []


def _copy_to_host(content: Any) -> Any:
    if isinstance(content, torch.Tensor):
        return _to(_detach(content), "cpu", copy=True)
    if isinstance(content, dict):
        return {key: _copy_to_host(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return type(content)(_copy_to_host(value) for value in content)
    return content


def _read_random_states() -> dict[str, Any]:
    states: dict[str, Any] = {"python": random.getstate(), "numpy": np.random.get_state()}
    states["torch"] = torch.get_rng_state()
    for name in ("cuda", "npu"):
        backend = getattr(torch, name, None)
        if backend is not None and backend.is_available() and backend.is_initialized():
            states[name] = backend.get_rng_state()
    return states


class _File:
    """Lines of JSON, flushed twice a second. Near the limit only one step in ten keeps its norms by parameter."""

    def __init__(self, path: Path, config: Config, secrets: Sequence[str]) -> None:
        self.path, self.limit, self.secrets = path, config["limit_bytes"], secrets
        self.thinned = 0
        self._bytes = 0
        self._flushed = 0.0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = path.open("w", encoding="utf-8")

    def write(self, record: dict[str, Any], *, force: bool = False) -> None:
        is_tight = "gradients" in record and self._bytes > self.limit // 2
        if is_tight and (record["step"] % 10 or self._bytes > self.limit):
            record = {key: value for key, value in record.items() if key not in ("gradients", "activations")}
            self.thinned += 1
        text = json.dumps(record, allow_nan=True, separators=(",", ":"))
        if "NaN" in text or "Infinity" in text:
            text = json.dumps(_make_plain(record), allow_nan=False, separators=(",", ":"))
        for secret in self.secrets:
            text = text.replace(secret, "***")
        self._bytes += len(text) + 1
        self._stream.write(text + "\n")
        now = time.monotonic()
        if force or now - self._flushed > WRITE_EVERY_S:
            self._flushed = now
            self._stream.flush()


def _make_plain(value: Any) -> Any:
    """NaN and infinity as words, for which JSON has no numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _make_plain(inner) for key, inner in value.items()}
    return [_make_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value


class _Clock:
    """Measures what the watching takes; an error of its own is told and ends no training."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def __enter__(self) -> None:
        self.began = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        self.recorder.seconds += time.perf_counter() - self.began
        if isinstance(error, Exception):
            self.recorder.error = self.recorder.error or f"{type(error).__name__}: {error}"[:300]
            return True
        return False


def watch_clipping(recorder: Recorder) -> Callable[[], None]:
    """Take the norms that `clip_grad_norm_` computes anyway, before it changes the gradients; returns how to stop."""
    original = clip_grad.clip_grad_norm_

    @functools.wraps(original)
    def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, *args: Any, **kwargs: Any) -> Any:
        pairs: list[tuple[list[torch.Tensor], Any]] = []
        plain = torch._foreach_norm

        def measure(tensors: list[torch.Tensor], *rest: Any, **named: Any) -> Any:
            norms = plain(tensors, *rest, **named)
            pairs.append((tensors, norms))
            return norms

        torch._foreach_norm = measure
        try:
            return original(parameters, max_norm, norm_type, *args, **kwargs)
        finally:
            torch._foreach_norm = plain
            if float(norm_type) == 2.0:
                recorder.add_clipped(pairs)

    def stop() -> None:
        for owner in (clip_grad, torch.nn.utils):
            if owner.clip_grad_norm_ is clip_grad_norm_:
                owner.clip_grad_norm_ = original

    clip_grad.clip_grad_norm_ = clip_grad_norm_
    torch.nn.utils.clip_grad_norm_ = clip_grad_norm_
    return stop


def watch_scaling(recorder: Recorder) -> None:
    """Learn which GradScaler scales the loss."""
    classes = [getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler]
    for scaler in classes:
        classes += [made_from for made_from in scaler.__subclasses__() if made_from not in classes]
    for scaler in classes:
        if "scale" in vars(scaler):
            _watch_scaler(recorder, scaler)


def _watch_scaler(recorder: Recorder, kind: Any) -> None:
    original = kind.scale

    @functools.wraps(original)
    def scale(self: Any, outputs: Any) -> Any:
        if self.is_enabled():
            recorder.scaler = self
        return original(self, outputs)

    kind.scale = scale
