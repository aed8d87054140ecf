"""The observer: counts steps, keeps losses, calls the plugins, stops the run.

What a plugin may use (see plugins.py): `on_model`, `on_forward`, `on_step`, `on_skip`, `on_end`, and the
attributes `model`, `models`, `out`, `rank`, `world_size`, `steps_done`, `note`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from . import gauges
from .clipping import Clipped
from .gpulog import GpuLog
from .losses import Losses
from .optimizers import Known
from .rounds import Rounds
from .stop import StopTraining, make_stop


class Observer:
    """One training process as it runs. `limit` steps and the run is stopped; None lets it end by itself."""

    def __init__(self, log: GpuLog, out: Path, limit: int | None, rank: int, world_size: int, grad_norm: bool) -> None:
        self.log = log
        self.out = out
        self.limit = limit
        self.rank = rank
        self.world_size = world_size
        self.models: list[torch.nn.Module] = []
        self.losses = Losses()
        self.known = Known()
        self.clipped = Clipped()
        self.wants_forward = False
        self.active = True
        self.stopped = False
        self.updates = 0
        self._measure_norm = grad_norm
        self._rounds = Rounds(self.known.count_optimizers)
        self._round: list[dict[str, Any]] = []
        self._callbacks: dict[str, list[Callable[..., None]]] = {}
        self._mark = time.perf_counter()

    # What plugins call

    @property
    def steps_done(self) -> int:
        return len(self.log.steps)

    @property
    def model(self) -> torch.nn.Module | None:
        """Return the model seen so far with the most parameters: the outermost module, DDP's wrapper included."""
        return max(self.models, key=_count_parameters, default=None)

    def on_model(self, call: Callable[[torch.nn.Module], None]) -> None:
        """Call `call(model)` once, just before the first forward of the first module that has parameters."""
        self._callbacks.setdefault("model", []).append(call)

    def on_forward(self, call: Callable[[torch.nn.Module], None]) -> None:
        """Call `call(module)` before every outermost forward of a module that has parameters."""
        self.wants_forward = True
        self._callbacks.setdefault("forward", []).append(call)

    def on_step(self, call: Callable[[dict[str, Any]], None]) -> None:
        """Call `call(step)` right after the update that ends a step; `step` is its entry in gpulog.json."""
        self._callbacks.setdefault("step", []).append(call)

    def on_skip(self, call: Callable[[], None]) -> None:
        """Call `call()` when a GradScaler left out an update for infinite gradients."""
        self._callbacks.setdefault("skip", []).append(call)

    def on_end(self, call: Callable[[str], None]) -> None:
        """Call `call(status)` once, after the script ended, failed or was stopped."""
        self._callbacks.setdefault("end", []).append(call)

    def note(self, code: str, **args: Any) -> None:
        """Add a remark to gpulog.json."""
        self.log.add_note(code, **args)

    def tell_plugins(self, event: str, *args: Any) -> None:
        for call in self._callbacks.get(event, []):
            call(*args)

    # What hooks call

    def forward_begins(self, module: torch.nn.Module) -> None:
        if all(module is not known for known in self.models):
            if not self.models:
                self._mark = time.perf_counter()
                self.models.append(module)
                self.tell_plugins("model", module)
            else:
                self.models.append(module)
        self.tell_plugins("forward", module)

    def update_begins(self, optimizer: Any) -> dict[str, Any]:
        """Read before an update what must be read while the gradients are still there."""
        if self.stopped:
            raise make_stop(self)
        if self._rounds.starts_early(id(optimizer)):
            self._rounds.close_early()
            self._end_round()
        if not self.log.content["meta"]["parameter_devices"]:
            self.log.content["meta"]["parameter_devices"] = _devices_of(optimizer)
        return {"lr": gauges.learning_rate(optimizer), "grad_norm": self.gradient_norm(optimizer)}

    def gradient_norm(self, optimizer: Any) -> torch.Tensor | None:
        if not self._measure_norm:
            return None
        before_clipping = self.clipped.take_norm(optimizer)
        if before_clipping is not None:
            return before_clipping
        try:
            norm = gauges.gradient_norm(optimizer)
        except RuntimeError as error:
            self._measure_norm = False
            self.note("grad_norm_failed", error=str(error).splitlines()[0])
            return None
        scale = getattr(optimizer, "grad_scale", None)
        return norm if norm is None or scale is None else norm / scale

    def update_ended(self, optimizer: Any, before: dict[str, Any]) -> None:
        """Log an update that really happened."""
        self.updates += 1
        loss, micro_batches = self.losses.take_mean()
        name = self.known.name_optimizer(optimizer)
        update = {"optimizer": name, "loss": loss, "micro_batches": micro_batches}
        self._round.append({**update, "lr": before["lr"], "grad_norm": before["grad_norm"]})
        if self._rounds.ends_round(id(optimizer)):
            self._end_round()

    def update_skipped(self) -> None:
        self.updates += 1
        self.losses.take_mean()
        self.log.content["skipped_steps"] += 1
        self.tell_plugins("skip")

    def finish(self, status: str, error: dict[str, Any] | None) -> None:
        """Write the last word; a plugin that fails here turns a good run into a failed one. A plugin that fails here
        turns a good run into a failed one.
        """
        try:
            self.tell_plugins("end", status)
        finally:
            self.log.finish_log(status, error)

    def _end_round(self) -> None:
        updates, self._round = self._round, []
        numbers = gauges.read_numbers([update[name] for update in updates for name in ("loss", "grad_norm")])
        for place, update in enumerate(updates):
            update["loss"], update["grad_norm"] = numbers[2 * place : 2 * place + 2]
        now = time.perf_counter()
        step = {"step": self.steps_done + 1, **_join_updates(updates), "time_s": now - self._mark}
        self._mark = now
        if len(updates) > 1:
            step["updates"] = updates
        self.log.add_step(step)
        self.tell_plugins("step", step)
        self._mark = time.perf_counter()
        if self.limit is not None and self.steps_done >= self.limit:
            self.stopped = True
            raise make_stop(self)


def _join_updates(updates: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one step made of one or more updates: losses add up, norms join as one vector, lr is the first's."""
    losses = [update["loss"] for update in updates if update["loss"] is not None]
    norms = [update["grad_norm"] for update in updates if update["grad_norm"] is not None]
    return {
        "loss": sum(losses) if losses else None,
        "lr": updates[0]["lr"],
        "grad_norm": sum(norm * norm for norm in norms) ** 0.5 if norms else None,
        "micro_batches": sum(update["micro_batches"] for update in updates),
    }


def _count_parameters(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def _devices_of(optimizer: Any) -> list[str]:
    return sorted({str(parameter.device) for group in optimizer.param_groups for parameter in group["params"]})


__all__ = ["Observer", "StopTraining"]
