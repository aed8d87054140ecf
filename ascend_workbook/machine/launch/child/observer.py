"""The observer: counts steps, keeps losses, calls the plugins, stops the run.

Plugins: files of other parts of the workbook that ride in the user's training process.

A plugin is a Python file with a function `attach(observer, config)`; `config` is what the launch gave for it
(JSON). It is loaded by path and must import nothing of the workbook's package. Example: dump two steps.

    # dump_plugin.py
    def attach(observer, config):
        from msprobe.pytorch import PrecisionDebugger
        debugger = PrecisionDebugger(config_path=config["config_path"])

        def begin(model):            # just before the first forward
            debugger.start(model=model)

        def next_step(step):         # right after the update that ends a step; step["step"] is 1, 2, ...
            debugger.stop()
            debugger.step()
            if step["step"] < config["steps"]:
                debugger.start(model=observer.model)

        observer.on_model(begin)
        observer.on_step(next_step)
        observer.on_end(lambda status: debugger.stop())

`attach` itself runs after torch is imported and transformed and before the script's first line: functions
that a script binds with `from torch.nn.functional import gelu` are replaced in time.
The callbacks are described in Observer. `observer.out` is the launch's folder (pathlib.Path),
`observer.rank` and `observer.world_size` this process's place, `observer.steps_done` the steps so far,
`observer.limit` the step after which the run is stopped (None: never), `observer.note(code, **args)` a remark
in gpulog.json; offers.py has what else a plugin may call. The step that reaches the limit still calls
`on_step` before the run is unwound; `on_end` comes last, whether the script ended, failed or was stopped.
Where a script is run by several processes each has its
own observer and plugins; a process that the script spawns attaches them when it makes its first optimiser.
An error raised by a plugin ends the run as failed.
"""

from __future__ import annotations

import importlib.util
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from . import gauges
from .gauges import Clipped, Losses
from .offers import Offers
from .program import make_stop

if TYPE_CHECKING:
    from torch.optim import Optimizer

    from .gpulog import GpuLog


#: How an update of the script's own is called
OWN = "own"


class Observer(Offers):
    """One training process as it runs. `limit` steps and the run is stopped; None lets it end by itself."""

    def __init__(
        self,
        log: GpuLog,
        out: Path,
        limit: int | None,
        rank: int,
        world_size: int,
        grad_norm: bool,
        counts_only: bool = False,
    ) -> None:
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
        self._counts_only = counts_only
        self._rounds = Rounds(self.known.count_optimizers, self.known.takes_place)
        self._round: list[dict[str, Any]] = []
        self._callbacks: dict[str, list[Callable[..., None]]] = {}
        self._mark = time.perf_counter()

    # What plugins call

    @property
    def steps_done(self) -> int:
        return self.log.steps_done

    @property
    def model(self) -> torch.nn.Module | None:
        """Return the model seen so far with the most parameters: the outermost module, DDP's wrapper included."""
        return max(
            self.models, key=lambda model: sum(parameter.numel() for parameter in model.parameters()), default=None
        )

    def on_model(self, call: Callable[[torch.nn.Module], None]) -> None:
        """Call `call(model)` once, just before the first forward of the first module that has parameters."""
        self._callbacks.setdefault("model", []).append(call)

    def on_forward(self, call: Callable[[torch.nn.Module], None]) -> None:
        """Call `call(module)` before every outermost forward of a module that has parameters."""
        self.wants_forward = True
        self._callbacks.setdefault("forward", []).append(call)

    def on_update(self, call: Callable[[Optimizer], None]) -> None:
        """Call `call(optimizer)` right before an update that will happen, its gradients still there."""
        self._callbacks.setdefault("update", []).append(call)

    def on_updated(self, call: Callable[[Optimizer], None]) -> None:
        """Call `call(optimizer)` right after an update, before the step that it may end is told."""
        self._callbacks.setdefault("updated", []).append(call)

    def on_step(self, call: Callable[[dict[str, Any]], None]) -> None:
        """Call `call(step)` right after the update that ends a step; `step` is its entry in gpulog.json."""
        self._callbacks.setdefault("step", []).append(call)

    def on_skip(self, call: Callable[[], None]) -> None:
        """Call `call()` when a GradScaler left out an update for infinite gradients."""
        self._callbacks.setdefault("skip", []).append(call)

    def on_end(self, call: Callable[[str], None]) -> None:
        """Call `call(status)` once, after the script ended, failed or was stopped."""
        self._callbacks.setdefault("end", []).append(call)

    def note(self, code: str, **args: object) -> None:
        """Add a remark to gpulog.json."""
        self.log.add_note(code, **args)

    def tell_plugins(self, event: str, *args: object) -> None:
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

    def update_begins(self, optimizer: Optimizer) -> dict[str, Any]:
        """Read before an update what must be read while the gradients are still there."""
        if self.stopped:
            raise make_stop(self)
        if self._rounds.starts_early(id(optimizer)):
            self._rounds.close_early()
            self._end_round()
        if not self.log.content["meta"]["parameter_devices"]:
            parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
            self.log.content["meta"]["parameter_devices"] = sorted({str(each.device) for each in parameters})
        self.tell_plugins("update", optimizer)
        return {"lr": gauges.learning_rate(optimizer), "grad_norm": self.gradient_norm(optimizer)}

    def gradient_norm(self, optimizer: Optimizer) -> torch.Tensor | None:
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

    def update_ended(self, optimizer: Optimizer, before: dict[str, Any]) -> None:
        """Log an update that really happened."""
        self.updates += 1
        self.tell_plugins("updated", optimizer)
        loss, micro_batches = self.losses.take_mean()
        name = self.known.name_optimizer(optimizer)
        update = {"optimizer": name, "loss": loss, "micro_batches": micro_batches}
        self._round.append({**update, "lr": before["lr"], "grad_norm": before["grad_norm"]})
        if self._rounds.ends_round(id(optimizer)):
            self._end_round()

    def own_update_ended(self) -> None:
        """Log an update that no optimizer of torch's made; it ends a step."""
        self.updates += 1
        if not self.log.content["meta"]["parameter_devices"] and self.model is not None:
            devices = {str(parameter.device) for parameter in self.model.parameters()}
            self.log.content["meta"]["parameter_devices"] = sorted(devices)
        loss, micro_batches = self.losses.take_mean()
        self._round.append(
            {"optimizer": OWN, "loss": loss, "micro_batches": micro_batches, "lr": None, "grad_norm": None}
        )
        self._end_round()

    def update_skipped(self) -> None:
        self.updates += 1
        self.losses.take_mean()
        self.log.content["skipped_steps"] += 1
        self.tell_plugins("skip")

    def finish(self, status: str, error: dict[str, object] | None) -> None:
        """Write the last word; a plugin that fails here turns a good run into a failed one."""
        try:
            self.tell_plugins("end", status)
        finally:
            self.log.finish_log(status, error)

    def _end_round(self) -> None:
        updates, self._round = self._round, []
        if self._counts_only:
            self._count_round(updates)
            return
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
        self._stop_at_limit()

    def _count_round(self, updates: list[dict[str, Any]]) -> None:
        """Count a step whose numbers stay where they are: a plugin has the loss as it lies on its device."""
        self.log.count_step()
        losses = [update["loss"] for update in updates if update["loss"] is not None]
        loss = sum(losses[1:], losses[0]) if losses else None
        self.tell_plugins("step", {"step": self.steps_done, "loss": loss, "lr": updates[0]["lr"] if updates else None})
        self._stop_at_limit()

    def _stop_at_limit(self) -> None:
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


class Known:
    """The optimisers that exist, without keeping them alive."""

    def __init__(self) -> None:
        self._made: list[weakref.ref[Optimizer]] = []
        self._late: set[int] = set()
        self._names: dict[int, str] = {}
        self._inner: set[int] = set()
        #: Called once, when the first is made.
        self.at_first: Callable[[], None] | None = None

    def add_optimizer(self, optimizer: Optimizer) -> None:
        self._made.append(weakref.ref(optimizer))
        if self._names:  # others have made updates by now
            self._late.add(id(optimizer))
        else:
            self._late.discard(id(optimizer))
        if self.at_first is not None:
            call, self.at_first = self.at_first, None
            call()

    def note_inner(self, optimizer: Optimizer) -> None:
        """Count an optimiser no more that another one calls: ZeroRedundancyOptimizer's holds some of the parameters."""
        self._inner.add(id(optimizer))
        self._made = [ref for ref in self._made if ref() is not optimizer]

    def is_inner(self, optimizer: Optimizer) -> bool:
        """Return whether another optimiser calls this one."""
        return id(optimizer) in self._inner

    @property
    def is_empty(self) -> bool:
        """Return whether no optimiser was ever made."""
        return not self._made

    def count_optimizers(self) -> int:
        """Count the optimisers; one wrapped in another holds the same parameters and counts once."""
        alive = [optimizer for optimizer in (ref() for ref in self._made) if optimizer is not None]
        return max(1, len({_first_parameter(optimizer) for optimizer in alive}))

    def takes_place(self, new: int, old: int) -> bool:
        """Return whether the optimiser `new` stands for `old` (both by `id`): that is gone, or `new` was made after
        updates and holds parameters of the same shapes."""
        alive = {id(optimizer): optimizer for optimizer in (ref() for ref in self._made) if optimizer is not None}
        made_late = new in alive and new in self._late
        return old not in alive or (made_late and _shapes_of(alive[new]) == _shapes_of(alive[old]))

    def name_optimizer(self, optimizer: Optimizer) -> str:
        """Return `0 SGD`, `1 Adam`: optimisers are numbered in the order of their first update."""
        number = len(self._names)
        return self._names.setdefault(id(optimizer), f"{number} {type(optimizer).__name__}")


def _first_parameter(optimizer: Optimizer) -> int:
    groups = getattr(optimizer, "param_groups", None) or [{"params": []}]
    return id(groups[0]["params"][0]) if groups[0]["params"] else id(optimizer)


def _shapes_of(optimizer: Optimizer) -> list[tuple[int, ...]]:
    return [tuple(parameter.shape) for group in optimizer.param_groups for parameter in group["params"]]


class Rounds:
    """When one training step ends, for any number of optimisers.

    With one optimiser every real `optimizer.step` is a step. With several (a GAN's two, one per network part)
    a step is a round of them. The first round ends when every optimiser made so far has stepped, or when one
    comes round again; the optimiser that ended it ends every later round too. So a GAN that updates D and then
    G counts a step at each G; five D updates per G count a step at each D.

    An optimiser that is made anew (a script that resumes) takes the place of the one that ended rounds, once that one
    is gone, or where it holds parameters of the same shapes, or at its second update without the other.

    Told of each update, says whether a round is complete. Optimisers are known by `id`.
    """

    def __init__(self, known: Callable[[], int], takes_place: Callable[[int, int], bool] | None = None) -> None:
        self._known, self._takes_place = known, takes_place
        self._new = 0
        self._first: list[int] = []
        self._marker: int | None = None

    def starts_early(self, optimizer: int) -> bool:
        """Whether this update, about to happen, shows that the first round was over without us knowing."""
        return self._marker is None and optimizer in self._first

    def close_early(self) -> None:
        """Close the first round: its last optimiser is the one that ends rounds from now on."""
        self._marker = self._first[-1]

    def _replaces_marker(self, optimizer: int) -> bool:
        return self._marker is not None and self._takes_place is not None and self._takes_place(optimizer, self._marker)

    def ends_round(self, optimizer: int) -> bool:
        """Count one update that happened and return whether it ends the round."""
        if self._marker is not None:
            if optimizer == self._marker:
                self._new = 0
            elif optimizer not in self._first and (optimizer == self._new or self._replaces_marker(optimizer)):
                self._marker = optimizer
            elif optimizer not in self._first:
                self._new = optimizer
            return optimizer == self._marker
        self._first.append(optimizer)
        if len(self._first) >= self._known():
            self._marker = optimizer
            return True
        return False


def attach_plugins(observer: Observer, plugins: list[dict[str, Any]]) -> None:
    """Load and attach each `{"path": ..., "config": ...}`."""
    for number, plugin in enumerate(plugins):
        path = Path(plugin["path"])
        spec = importlib.util.spec_from_file_location(f"_workbook_plugin_{number}_{path.stem}", path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} cannot be loaded as a launch plugin")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # Dynamo imports the module of a function that it meets
        spec.loader.exec_module(module)
        module.attach(observer, plugin["config"])
