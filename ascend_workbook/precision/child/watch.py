"""Rides in the training process: norms of gradients, weights, updates and activations of every step, and alarms.

Loaded by path. Every step: the norm of each parameter's gradient before its update (one `_foreach_norm`), the loss, the
learning rate and the loss scale. Every step a part of the parameters in turn: the weight's norm and how far the update
moved it. Every so many steps: the norm of what each module gave. And whether each weight is what the update before
left: exactly on the CPU, by its norm and in turn exactly on a device. Numbers stay on the device until `every` steps
are there, and then leave it together. Written line by line to `watch.jsonl`, which a killed run leaves readable."""

from __future__ import annotations

import importlib.util
import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypedDict

import torch

if TYPE_CHECKING:
    from ascend_workbook.machine.launch.child.observer import Observer

SCHEMA = "ascend-workbook/watch/1"
#: Lines reach the disk at least so often.
WRITE_EVERY_S = 0.5

_raw, _base = torch._C._VariableFunctions, torch.Tensor.__base__
_detach, _to, _tolist = _base.detach, _base.to, _base.tolist
_cat, _clone, _no_grad = _raw.cat, _raw.clone, torch.no_grad


def _load_file(name: str) -> ModuleType:
    """Load a file that lies beside this one, and needs nothing else of the workbook."""
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"_workbook_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    from ascend_workbook.precision.child import watch_hooks as hooks
    from ascend_workbook.precision.child import watch_numbers as numbers
    from ascend_workbook.precision.child import watch_rules as rules
    from ascend_workbook.precision.child import watch_states as states
else:
    hooks, numbers, rules, states = (_load_file(f"watch_{name}") for name in ("hooks", "numbers", "rules", "states"))


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
    hooks.watch_clipping(recorder)
    hooks.watch_scaling(recorder)


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
        self.weights = numbers.Weights()
        self._moments: dict[int, numbers.Moments] = {}
        self.activations = hooks.Activations(config["activation_every"])
        self.states = states.States(out / "states", config["state_bytes"], rank)
        self._rules = rules.Rules()
        self._names: list[str] = []
        self._parameters: list[torch.Tensor] = []
        self._places: dict[int, int] = {}
        self._optimizers: list[torch.optim.Optimizer] = []
        self._clipped: list[tuple[list[torch.Tensor], Any]] = []
        self._entry = numbers.Entry()
        self._pending: list[numbers.Entry] = []
        self._sampled: list[tuple[int, torch.Tensor, bool]] = []

    # What happens in the training

    def add_model(self, model: torch.nn.Module) -> None:
        """Take a model before its first forward."""
        if all(model is not known for known in self.models):
            self.models.append(model)
        with _Clock(self):
            if self.step == 0:
                self.states.keep_first(self.models)
                self.activations.begin_step(0, self.models)

    def begin_update(self, optimizer: torch.optim.Optimizer, models: Iterable[torch.nn.Module] = ()) -> None:
        """Measure the gradients and the weights that an optimizer is about to use."""
        with _Clock(self), _no_grad():
            for model in models:
                if all(model is not known for known in self.models):
                    self.models.append(model)
            places = self._know_parameters(optimizer)
            self._measure_gradients(optimizer, places)
            result = self.weights.check(places, self._parameters, self.step)
            self._entry.checked.update(result.checked)
            self._entry.changed += result.changed
            for place, how, flag in result.flags:
                self._entry.add((how, place), flag)
            if id(optimizer) in self._moments:
                self._check_moments(self._moments[id(optimizer)])
            turn = max(1, self.config["update_every"])
            rates = numbers.rates_of(optimizer)
            self._sampled = []
            for place in places:
                if place % turn == self.step % turn:
                    value = numbers.plain_value(self._parameters[place])
                    moves = rates.get(id(self._parameters[place]), 0.0) > 0
                    self._sampled.append((place, _clone(value), moves and self._parameters[place].grad is not None))

    def end_update(self, optimizer: torch.optim.Optimizer) -> None:
        """Measure how far an optimizer moved the weights of this turn, and note what it left."""
        with _Clock(self), _no_grad():
            if self._sampled:
                before = [value for _, value, _ in self._sampled]
                moved = [
                    _raw.sub(numbers.plain_value(self._parameters[place]), old) for (place, old, _) in self._sampled
                ]
                norms = numbers.norms_of([*before, *moved])
                for at, (place, _, moves) in enumerate(self._sampled):
                    self._entry.updates.append((place, moves))
                    self._entry.add(("weight", place), norms[at])
                    self._entry.add(("moved", place), norms[len(before) + at])
                self._sampled = []
            places = [
                self._places[id(value)] for value in numbers.parameters_of(optimizer) if id(value) in self._places
            ]
            self.weights.note(places, self._parameters, self.step + 1)
            self._moments.setdefault(id(optimizer), numbers.Moments()).note(optimizer, self._places)

    def end_step(self, loss: object, rate: float | None) -> None:
        """Close a step, after its last update."""
        with _Clock(self), _no_grad():
            entry, self._entry = self._entry, numbers.Entry()
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
            self.states.keep(self.step, self.skipped, self.models, self._optimizers, self.scaler)
            self.activations.begin_step(self.step, self.models)
            if len(self._pending) >= self._choose_batch(entry):
                self.flush()

    def skip_step(self) -> None:
        """Note an update that a GradScaler left out; what was measured for it is forgotten."""
        self.skipped += 1
        self._entry = numbers.Entry()
        self._clipped = []

    def finish(self, status: str) -> None:
        """Write what is left, and how it ended."""
        with _Clock(self), _no_grad():
            self.activations.end_step()
            self.flush()
        end = {"status": status, "steps": self.step, "skipped": self.skipped, "seconds": round(self.seconds, 4)}
        end.update(kept=self.states.written, why_not=self.states.why_not, error=self.error)
        unchecked = [self.weights.error, *(moments.error for moments in self._moments.values())]
        end.update(unchecked=next(filter(None, unchecked), None), thinned=self.file.thinned)
        self.file.write({"end": end}, force=True)

    def watch_clipping(self) -> Callable[[], None]:
        """Take the norms that clipping computes; returns how to stop."""
        return hooks.watch_clipping(self)

    def flush(self) -> None:
        """Bring the numbers of the steps so far to the host, judge and write them."""
        pending, self._pending = self._pending, []
        packed = [entry.packed for entry in pending if entry.packed is not None]
        if packed:
            measured = iter(
                _tolist(packed[0] if len(packed) == 1 else _cat([_to(p, packed[0].device) for p in packed]))
            )
        for entry in pending:
            values = [next(measured) for _ in entry.slots]
            record = entry.make_record(values, self.activations.names)
            self.file.write(record)
            for alarm in self._rules.see(record):
                self._tell(alarm)

    # What hooks tell

    def add_clipped(self, pairs: list[tuple[list[torch.Tensor], Any]]) -> None:
        """Take the norms that clipping computed of the gradients before it changed them."""
        self._clipped += pairs

    # Inside

    def _check_moments(self, moments: numbers.Moments) -> None:
        looked, changed, flags = moments.check(self._places)
        self._entry.moments.update(looked)
        self._entry.spoilt.update(changed)
        for place, flag in flags:
            self._entry.add(("moment", place), flag)

    def _tell(self, alarm: dict[str, Any]) -> None:
        alarm = {**alarm, "rank": self.rank} if self.rank else alarm
        alarm["state"] = self.states.write(int(alarm["step"]))
        self.alarms.append(alarm)
        self.file.write({"alarm": alarm}, force=True)
        if self.on_alarm is not None:
            self.on_alarm(alarm)

    def _choose_batch(self, entry: numbers.Entry) -> int:
        if self.config["every"]:
            return self.config["every"]
        on_device = entry.packed is not None and entry.packed.device.type != "cpu"
        return 8 if on_device else 1  # on the CPU nothing is waited for

    def _know_parameters(self, optimizer: torch.optim.Optimizer) -> list[int]:
        """Return the places of an optimizer's parameters; names of new ones are written first."""
        own = numbers.parameters_of(optimizer)
        if all(optimizer is not known for known in self._optimizers):
            self._optimizers.append(optimizer)
        new = [parameter for parameter in own if id(parameter) not in self._places]
        if new:
            known = numbers.name_parameters(self.models)
            taken = set(self._names)
            for parameter in new:
                name = known.get(id(parameter)) or f"optimizer{len(self._optimizers) - 1}.{len(self._names)}"
                name = name if name not in taken else f"{len(self._names)}:{name}"
                taken.add(name)
                self._places[id(parameter)] = len(self._names)
                self._names.append(name)
                self._parameters.append(parameter)
            self._rules.set_names(self._names, [parameter.numel() for parameter in self._parameters])
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
            "exact": "all" if device == "cpu" else f"1/{numbers.EXACT_TURN}",
            "every": {"update": self.config["update_every"], "activation": self.config["activation_every"]},
        }

    def _measure_gradients(self, optimizer: torch.optim.Optimizer, places: list[int]) -> None:
        """Keep the norm of every gradient, unscaled; beside it what it was before clipping, where it was clipped."""
        held = [place for place in places if self._parameters[place].grad is not None]
        if len(held) < len(places):
            self._entry.frozen.update(place for place in places if not self._parameters[place].requires_grad)
        gradients = [numbers.plain_value(self._parameters[place].grad) for place in held]
        scale = getattr(optimizer, "grad_scale", None)
        for place, norm in zip(held, numbers.norms_of(gradients)):
            self._entry.add(("gradient", place), norm if scale is None else norm / scale)
        self._entry.held.update(held)
        before = {tensor.data_ptr(): norm for tensors, norms in self._clipped for tensor, norm in zip(tensors, norms)}
        self._clipped = []
        for place, gradient in zip(held, gradients):
            if before and gradient.data_ptr() in before:
                self._entry.add(("raw", place), _to(before[gradient.data_ptr()], torch.float32).reshape(()))


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
