"""Puts the observer's eyes into torch, in this process only; sets seeds and notes those the script sets itself."""

from __future__ import annotations

import contextlib
import functools
import random
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from . import gauges
from .observer import Observer
from .own_updates import OwnUpdates
from .replacing import replaces

if TYPE_CHECKING:
    from torch.optim import Optimizer

#: Frames of this file stand between the program's line and torch's; who asks whose line it is passes over them.
PASSES_THROUGH = True
#: So many seedings are noted.
MOST = 40


def install_hooks(observer: Observer) -> None:
    """Install all hooks; after the transform, which may replace torch's classes."""
    _hook_forward(observer)
    gauges.watch_clipping(observer.clipped)
    in_step = _hook_optimizers(observer)
    _hook_backward(observer, in_step)
    # GradScaler and every class made from it that has a `scale` or `step` of its own; torch before 2.3 has it elsewhere
    classes = [getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler]
    for scaler in classes:
        classes += [made_from for made_from in scaler.__subclasses__() if made_from not in classes]
        _hook_scaler(observer, scaler)


def _hook_forward(observer: Observer) -> None:
    """Watch the outermost forwards. Once the first step is done, and no plugin asks, torch's own call is put back."""
    original = torch.nn.Module.__call__
    compiling = getattr(getattr(torch, "compiler", None), "is_compiling", bool)  # torch 2.3
    depth = 0

    @functools.wraps(original)
    def call_module(self: torch.nn.Module, *args: object, **kwargs: object) -> object:
        nonlocal depth
        if compiling() or depth or not observer.active:  # Dynamo traces this function with the model
            return original(self, *args, **kwargs)
        if observer.steps_done and not observer.wants_forward and torch.nn.Module.__call__ is call_module:
            torch.nn.Module.__call__ = original
        elif next(self.parameters(), None) is not None:
            observer.forward_begins(self)
        depth += 1
        try:
            return original(self, *args, **kwargs)
        finally:
            depth -= 1

    torch.nn.Module.__call__ = call_module


def _hook_optimizers(observer: Observer) -> list[tuple[Optimizer, dict[str, object] | None]]:
    """Watch the updates. The list returned holds the optimisers inside `step`, the outermost first."""
    inside: list[tuple[Optimizer, dict[str, object] | None]] = []

    def begin_step(optimizer: Optimizer, args: object, kwargs: object) -> None:
        if not observer.active:
            return
        if inside and any(optimizer is entered for entered, _ in inside):
            inside.clear()  # an earlier step raised and the script went on
        if inside:
            observer.known.note_inner(optimizer)
            inside.append((optimizer, None))  # an optimiser that calls another one: the outer one counts
            return
        found_inf = getattr(optimizer, "found_inf", None)  # fused optimisers leave the update out by themselves
        skipped = found_inf is not None and gauges.is_infinite(found_inf)
        inside.append((optimizer, None if skipped else observer.update_begins(optimizer)))

    def end_step(optimizer: Optimizer, args: object, kwargs: object) -> None:
        if not observer.active or not inside:
            return
        entered, update = inside.pop()
        if inside:
            return
        if update is None:
            observer.update_skipped()
        else:
            observer.update_ended(optimizer, update)

    register_optimizer_step_pre_hook(begin_step)
    register_optimizer_step_post_hook(end_step)

    @replaces(torch.optim.Optimizer, "__init__")
    def init_optimizer(original: Callable[..., None], self: Optimizer, *args: object, **kwargs: object) -> None:
        original(self, *args, **kwargs)
        observer.known.add_optimizer(self)

    return inside


def _hook_backward(observer: Observer, in_step: list[tuple[Optimizer, dict[str, object] | None]]) -> None:
    """Watch where backward starts: `Tensor.backward` calls `torch.autograd.backward` too."""
    own = OwnUpdates()
    depth = 0  # not per thread: on an accelerator a checkpoint's inner backward runs in autograd's own thread

    @replaces(torch.autograd, "backward")
    def run_backward(
        original: Callable[..., None],
        tensors: torch.Tensor | Sequence[torch.Tensor],
        *args: object,
        **kwargs: object,
    ) -> None:
        nonlocal depth
        if depth or not observer.active:
            original(tensors, *args, **kwargs)
            return
        update = in_step[0][1] if in_step else None
        if observer.known.is_empty and own.has_ended():
            observer.own_update_ended()
        depth += 1
        try:
            # a closure (LBFGS) evaluates the loss many times within one step: the first is the step's loss
            again = update is not None and "evaluated" in update
            if not again:
                observer.losses.backward_from(tensors)
            original(tensors, *args, **kwargs)
        finally:
            depth -= 1
        if observer.known.is_empty:
            own.pass_ended(observer.models)
        if update is not None and not again:
            update.update(grad_norm=observer.gradient_norm(in_step[0][0]), evaluated=True)

    @replaces(torch.autograd, "grad")
    def find_gradients(
        original: Callable[..., Any], outputs: Any, inputs: Any, *args: object, **kwargs: object
    ) -> object:
        inputs = inputs if isinstance(inputs, torch.Tensor) else tuple(inputs)
        of_model = not isinstance(inputs, torch.Tensor) and any(isinstance(each, torch.nn.Parameter) for each in inputs)
        if depth or not observer.active or not observer.known.is_empty or not of_model:
            return original(outputs, inputs, *args, **kwargs)
        if own.has_ended():
            observer.own_update_ended()
        observer.losses.backward_from(outputs)
        result = original(outputs, inputs, *args, **kwargs)
        own.pass_ended(observer.models)
        return result


def _hook_scaler(observer: Observer, cls: type) -> None:
    depth = 0

    def wrap_method(name: str, note: Callable[..., None]) -> None:
        if name not in vars(cls):
            return

        @replaces(cls, name)
        def call_method(
            original: Callable[..., Any], self: torch.amp.GradScaler, *args: object, **kwargs: object
        ) -> object:
            nonlocal depth
            if depth or not observer.active or not self.is_enabled():
                return original(self, *args, **kwargs)
            before, depth = observer.updates, depth + 1
            try:
                result = original(self, *args, **kwargs)
            finally:
                depth -= 1
            note(self, before, result, *args)
            return result

    def note_scaled(
        scaler: torch.amp.GradScaler, before: int, result: Iterable[torch.Tensor], outputs: Iterable[torch.Tensor]
    ) -> None:
        pairs = [(result, outputs)] if isinstance(outputs, torch.Tensor) else zip(result, outputs)
        for scaled_loss, original in pairs:
            if isinstance(original, torch.Tensor) and original.numel() == 1:
                observer.losses.note_scaled(scaled_loss, original, scaler._scale)

    def note_stepped(scaler: torch.amp.GradScaler, before: int, *rest: object) -> None:
        if observer.updates == before:
            observer.update_skipped()

    wrap_method("scale", note_scaled)
    wrap_method("step", note_stepped)


def force_seed(seed: int | None, deterministic: bool) -> None:
    """Seed random, numpy and torch before the script begins; the script may seed again."""
    if seed is not None:
        random.seed(seed)
        with contextlib.suppress(ModuleNotFoundError):  # then the script has no numpy stream either
            import numpy

            numpy.random.seed(seed % 2**32)
        torch.manual_seed(seed)
    if deterministic:
        # warn_only: an operator without a deterministic form is named in the log and runs
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = False


def watch_seeding(seedings: list[dict[str, object]]) -> None:
    """Append `{"call": name, "seed": value}` for each seeding, up to 40."""
    seeding: list[str] = []  # torch.manual_seed seeds the accelerators by calling theirs: only the script's call counts
    owners: list[tuple[Any, tuple[str, ...]]] = [(random, ("seed",)), (torch, ("manual_seed",))]
    owners.append((torch.cuda, ("manual_seed", "manual_seed_all")))
    with contextlib.suppress(ModuleNotFoundError):  # without numpy there is nothing to watch
        import numpy

        owners.append((numpy.random, ("seed",)))

    def call_seeding(original: Callable[..., Any], shown: str, *args: object, **kwargs: object) -> object:
        values = [*args, *kwargs.values()]
        entry: dict[str, object] = {"call": shown, "seed": values[0] if values and isinstance(values[0], int) else None}
        if not seeding and len(seedings) < MOST and entry not in seedings:
            seedings.append(entry)
        seeding.append(shown)
        try:
            return original(*args, **kwargs)
        finally:
            seeding.pop()

    for owner, names in owners:
        for name in names:
            shown = f"{owner.__name__}.{name}"
            replaces(owner, name)(lambda original, *args, shown=shown, **kw: call_seeding(original, shown, *args, **kw))
