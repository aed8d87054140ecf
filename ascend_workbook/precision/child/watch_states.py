"""States of a watched training on the host, the last before an alarm written, and put back. Loaded by path."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import torch

#: Steps between the states that are kept for an alarm, and how many alarms have theirs written.
KEEP_EVERY, KEPT = 50, 2
#: A state so many steps before an alarm is written rather than a later one: the steps between prove a second run.
BEFORE = 4
SCHEMA = "ascend-workbook/watch-state/1"

_base = torch.Tensor.__base__
_detach, _to = _base.detach, _base.to


class States:
    """Weights, optimizers and random streams, copied to the host every so many steps; the copy before an alarm's step
    is written, so that the step can be run again."""

    def __init__(self, folder: Path, limit_bytes: int, rank: int) -> None:
        self.folder, self.limit, self.rank = folder, limit_bytes, rank
        self.written: list[str] = []
        self.why_not = "" if limit_bytes else "off"
        self._begun = read_random_states()
        self._kept: list[tuple[int, dict[str, Any]]] = []

    def keep_first(self, models: list[torch.nn.Module]) -> None:
        """Keep the state before the first forward."""
        if not self._kept:
            self._keep(0, 0, models, [], None)

    def keep(
        self,
        step: int,
        skipped: int,
        models: list[torch.nn.Module],
        optimizers: list[torch.optim.Optimizer],
        scaler: Any,
    ) -> None:
        """Keep the state that this step left, where it is one of those to be kept."""
        if step % KEEP_EVERY == 0:
            self._keep(step, skipped, models, optimizers, scaler)

    def write(self, step: int) -> str | None:
        """Write a state before a step and return the file's name: the last that lies BEFORE steps back, else the last;
        None where there is none to write."""
        before = [(at_step, state) for at_step, state in self._kept if at_step < step]
        early = [(at_step, state) for at_step, state in before if at_step <= step - BEFORE]
        if not before:
            return None
        at_step, state = (early or before)[-1]
        name = f"step{at_step}.rank{self.rank}.pt"
        if name in self.written:
            return name
        if len(self.written) >= KEPT:
            return None
        self.folder.mkdir(exist_ok=True)
        write_state(state, self.folder / name)
        self.written.append(name)
        return name

    def _keep(
        self,
        step: int,
        skipped: int,
        models: list[torch.nn.Module],
        optimizers: list[torch.optim.Optimizer],
        scaler: Any,
    ) -> None:
        if self.why_not:
            return
        tensors = [value for model in models for value in model.state_dict().values()]
        tensors += [value for optimizer in optimizers for value in _tensors_in(optimizer.state_dict()["state"])]
        size = sum(value.numel() * value.element_size() for value in tensors if isinstance(value, torch.Tensor))
        if 2 * size > self.limit:
            self.why_not = f"size {size}"
            self._kept = []
            return
        state = {**read_state(step, skipped, models, optimizers, scaler), "begun": self._begun}
        self._kept = [*self._kept[-1:], (step, state)]


def read_state(
    step: int,
    skipped: int,
    models: list[torch.nn.Module],
    optimizers: list[torch.optim.Optimizer],
    scaler: Any,
) -> dict[str, Any]:
    """Copy what a step left to the host. It holds tensors, numbers and words alone: it is read without pickle."""
    return {
        "schema": SCHEMA,
        "step": step,
        "skipped": skipped,
        "models": [_copy_to_host(model.state_dict()) for model in models],
        "optimizers": [_copy_to_host(optimizer.state_dict()) for optimizer in optimizers],
        "scaler": _copy_to_host(scaler.state_dict()) if scaler is not None else None,
        "random": read_random_states(),
    }


def write_state(state: dict[str, Any], path: Path) -> None:
    """Write a state whole or not at all."""
    aside = path.with_name(f"{path.name}.part")
    torch.save(state, aside)
    aside.replace(path)


def load_state(path: Path) -> dict[str, Any]:
    """Load a state; no code that a file may hold is run."""
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    if state.get("schema") != SCHEMA:
        raise ValueError(f"schema {state.get('schema')!r}, expected {SCHEMA!r}")
    return state


def put_back(
    state: dict[str, Any],
    models: list[torch.nn.Module],
    optimizers: list[torch.optim.Optimizer],
    scaler: Any,
) -> list[str]:
    """Set a training to a kept state; returns what of it could not be."""
    missed = []
    for kind, content, objects in (("model", state["models"], models), ("optimizer", state["optimizers"], optimizers)):
        if len(content) != len(objects):
            missed.append(f"{kind}: {len(content)} kept, {len(objects)} here")
        for part, target in zip(content, objects):
            target.load_state_dict(part)
    if state["scaler"] is not None and scaler is not None:
        scaler.load_state_dict(state["scaler"])
    return missed + set_random_states(state["random"])


def read_random_states() -> dict[str, Any]:
    """Read the random streams of Python, numpy and torch."""
    kind, keys, *rest = np.random.get_state(legacy=True)
    states: dict[str, Any] = {"python": random.getstate(), "torch": torch.get_rng_state()}
    states["numpy"] = [kind, torch.from_numpy(np.asarray(keys).astype(np.int64)), *rest]
    for name in ("cuda", "npu"):
        backend = getattr(torch, name, None)
        if backend is not None and backend.is_available() and backend.is_initialized():
            states[name] = backend.get_rng_state()
    return states


def set_random_states(states: dict[str, Any]) -> list[str]:
    """Set the random streams; returns those that could not be: of a device of another kind."""
    missed = []
    random.setstate(states["python"])
    kind, keys, *rest = states["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(states["torch"])
    for name in ("cuda", "npu"):
        backend = getattr(torch, name, None)
        if name in states and backend is not None and backend.is_available():
            try:
                backend.set_rng_state(states[name])
            except (RuntimeError, ValueError, TypeError):
                missed.append(f"random: {name}")
    return missed


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
