"""Rides in the training process: brings a script to a kept state, and on from there, so that its steps are run again.

The script runs from its first line, so that its data stands where it stood; what it computes until the state is of no
use, and where its model draws no random numbers on the host, the model is not run: its first outputs are given again
(`Skipper`). At the state weights, optimizers, scaler and random streams are put back. From there every step is watched
into `watch.jsonl`, for the engine to hold against the first run. Loaded by path."""

from __future__ import annotations

import functools
import importlib.util
import json
import random
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import torch
from torch.utils import _pytree as pytree

if TYPE_CHECKING:
    from ascend_workbook.machine.launch.child.observer import Observer

#: Forwards of other arguments or shapes that are remembered; beyond, the model runs.
MOST = 64

_base = torch.Tensor.__base__
_detach, _clone = _base.detach, torch._C._VariableFunctions.clone


class Config(TypedDict):
    """`state` is the file; `watch` the configuration of watch.py, or empty; `save` where to keep the state that attempt
    `save_at` begins with (an empty `save`: nowhere); `skips` whether a model may be left out before the state."""

    state: str
    watch: dict[str, int]
    save: str
    save_at: int
    skips: bool


def _load_file(name: str) -> ModuleType:
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"_workbook_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


states = _load_file("watch_states")


def attach(observer: Observer, config: Config) -> None:
    """Bring the run to the state, then watch it."""
    Replay(observer, config).install()


class Replay:
    """Counts attempts at an update: one that a GradScaler left out counts."""

    def __init__(self, observer: Observer, config: Config) -> None:
        self.observer, self.config = observer, config
        self.state = states.load_state(Path(config["state"]))
        self.begin = int(self.state["step"]) + int(self.state["skipped"])
        self.attempts = 0
        self.started = False
        self.optimizers: list[torch.optim.Optimizer] = []
        self.skipper = Skipper(observer, config["skips"] and self.begin > 1)
        self.told: dict[str, Any] = {"begin": self.begin, "missed": []}
        self.recorder: Any = None
        self.scalers = _Scalers()
        if config["watch"]:
            watch = _load_file("watch")
            secrets = observer.log.secrets
            self.recorder = watch.Recorder(observer.out, config["watch"], observer.rank, observer.world_size, secrets)
            self.recorder.step, self.recorder.skipped = int(self.state["step"]), int(self.state["skipped"])
            watch.hooks.watch_clipping(self)
            self.watch_scaling = watch.hooks.watch_scaling
        else:
            self.watch_scaling = _load_file("watch_hooks").watch_scaling

    def install(self) -> None:
        self.told["missed"] += states.set_random_states(self.state["begun"])
        self.watch_scaling(self.scalers)
        self.skipper.install()
        self.observer.on_model(self._meet_model)
        self.observer.on_update(self._begin_update)
        self.observer.on_updated(self._end_update)
        self.observer.on_step(self._end_step)
        self.observer.on_skip(self._skip_step)
        self.observer.on_end(self._finish)

    def add_clipped(self, pairs: Any) -> None:
        """Hand on the norms that clipping computed, once the state is reached."""
        if self.started:
            self.recorder.add_clipped(pairs)

    def _meet_model(self, model: torch.nn.Module) -> None:
        if self.begin == 0:
            self._start()

    def _begin_update(self, optimizer: torch.optim.Optimizer) -> None:
        if all(optimizer is not known for known in self.optimizers):
            self.optimizers.append(optimizer)
        if self.started and self.recorder:
            self.recorder.begin_update(optimizer, self.observer.models)
        elif not self.started and self.skipper.is_on:
            for group in optimizer.param_groups:  # nothing that it would compute is of use
                for parameter in group["params"]:
                    parameter.grad = None

    def _end_update(self, optimizer: torch.optim.Optimizer) -> None:
        if self.started and self.recorder:
            self.recorder.end_update(optimizer)

    def _end_step(self, step: dict[str, Any]) -> None:
        if self.started and self.recorder:
            self.recorder.scaler = self.scalers.scaler
            self.recorder.end_step(step["loss"], step["lr"])
        self._count_attempt()

    def _skip_step(self) -> None:
        if self.started and self.recorder:
            self.recorder.skip_step()
        self._count_attempt()

    def _count_attempt(self) -> None:
        self.attempts += 1
        if not self.started and self.attempts == self.begin:
            self._start()
        if self.config["save"] and self.attempts == self.config["save_at"] and self.started:
            step, skipped = self.recorder.step, self.recorder.skipped
            models, scaler = self.observer.models, self.scalers.scaler
            state = states.read_state(step, skipped, models, self.optimizers, scaler)
            states.write_state({**state, "begun": self.state["begun"]}, Path(self.config["save"]))
            self.told["saved"] = step

    def _start(self) -> None:
        self.started = True
        self.skipper.remove()
        self.told["skipped_forwards"] = self.skipper.count
        models = list(self.observer.models)
        if self.begin == 0:  # a model that is met later has its weights by the script, as it had
            models = models[: len(self.state["models"])]
        self.told["missed"] += states.put_back(self.state, models, self.optimizers, self.scalers.scaler)

    def _finish(self, status: str) -> None:
        if self.recorder is not None:
            self.recorder.finish(status)
        self.told.update(started=self.started, attempts=self.attempts, status=status)
        path = self.observer.out / f"replay.rank{self.observer.rank}.json"
        path.write_text(json.dumps(self.told), encoding="utf-8")


class _Scalers:
    """Takes the GradScaler that scales the loss."""

    scaler: Any = None


class Skipper:
    """Gives a model's first outputs again for arguments of the same shapes, in place of running it.

    Only while the model draws nothing from the host's random streams: what the script draws there for its data must
    come out as it did. What else depends on a model's outputs is seen when the steps behind the state are compared."""

    def __init__(self, observer: Observer, is_on: bool) -> None:
        self.observer, self.is_on = observer, is_on
        self.count = 0
        self._depth = 0
        self._known: dict[Any, Any] = {}
        self._original = torch.nn.Module.__call__

    def install(self) -> None:
        if not self.is_on:
            return
        original, skipper = self._original, self

        @functools.wraps(original)
        def call_module(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if not skipper.is_on or skipper._depth or not skipper.observer.active:
                return original(module, *args, **kwargs)
            if next(module.parameters(), None) is None:
                return original(module, *args, **kwargs)
            return skipper._call_or_skip(module, args, kwargs)

        self._call = call_module
        torch.nn.Module.__call__ = call_module

    def remove(self) -> None:
        """Let every model run from here on."""
        self.is_on = False
        self._known = {}
        if torch.nn.Module.__call__ is getattr(self, "_call", None):
            torch.nn.Module.__call__ = self._original

    def _call_or_skip(self, module: torch.nn.Module, args: Any, kwargs: Any) -> Any:
        leaves, _ = pytree.tree_flatten((args, kwargs))
        shapes = tuple((tuple(leaf.shape), leaf.dtype) if isinstance(leaf, torch.Tensor) else None for leaf in leaves)
        key = id(module), torch.is_grad_enabled(), module.training, shapes
        known = self._known.get(key)
        if known is not None:
            self.count += 1
            return self._give_again(module, *known)
        before = _read_host_streams()
        self._depth += 1
        try:
            output = self._original(module, *args, **kwargs)
        finally:
            self._depth -= 1
        if not _is_same(before, _read_host_streams()):
            self.is_on = False
        elif len(self._known) < MOST:
            self._known[key] = pytree.tree_flatten(output)
        return output

    def _give_again(self, module: torch.nn.Module, leaves: list[Any], shape: Any) -> Any:
        """The outputs, tied to the smallest parameter with a gradient of 0, so that backward and scalers work."""
        link = None
        if torch.is_grad_enabled():
            trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
            link = min(trained, key=torch.numel).flatten()[:1].sum() * 0 if trained else None
        outputs = []
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                had_gradient, leaf = leaf.requires_grad, _clone(_detach(leaf))
                leaf = leaf + link.to(leaf) if link is not None and had_gradient else leaf
            outputs.append(leaf)
        return pytree.tree_unflatten(outputs, shape)


def _read_host_streams() -> tuple[Any, ...]:
    _, keys, place, *_ = np.random.get_state(legacy=True)
    return random.getstate(), np.asarray(keys).tobytes(), place, torch.get_rng_state()


def _is_same(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    return left[:3] == right[:3] and torch.equal(left[3], right[3])
