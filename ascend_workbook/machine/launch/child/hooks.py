"""Puts the observer's eyes into torch, in this process only."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from . import clipping
from .observer import Observer


def install_hooks(observer: Observer) -> None:
    """Install all hooks, after the transform, which may replace torch's classes. To be called after the transform,
    which may replace torch's classes.
    """
    _hook_forward(observer)
    clipping.watch_clipping(observer.clipped)
    in_step = _hook_optimizers(observer)
    _hook_backward(observer, in_step)
    for scaler in _scaler_classes():
        _hook_scaler(observer, scaler)


def _hook_forward(observer: Observer) -> None:
    """Watch the outermost forwards. Once the first step is done, and no plugin asks, torch's own call is put back."""
    original = torch.nn.Module.__call__
    compiling = getattr(getattr(torch, "compiler", None), "is_compiling", bool)  # torch 2.3
    depth = 0

    @functools.wraps(original)
    def call_module(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
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


def _hook_optimizers(observer: Observer) -> list[tuple[Any, dict[str, Any] | None]]:
    """Watch the updates. The list returned holds the optimisers inside `step`, the outermost first."""
    inside: list[tuple[Any, dict[str, Any] | None]] = []

    def begin_step(optimizer: Any, args: Any, kwargs: Any) -> None:
        if not observer.active:
            return
        if inside and any(optimizer is entered for entered, _ in inside):
            inside.clear()  # an earlier step raised and the script went on
        if inside:
            inside.append((optimizer, None))  # an optimiser that calls another one: the outer one counts
            return
        found_inf = getattr(optimizer, "found_inf", None)  # fused optimisers leave the update out by themselves
        skipped = found_inf is not None and float(found_inf) != 0.0
        inside.append((optimizer, None if skipped else observer.update_begins(optimizer)))

    def end_step(optimizer: Any, args: Any, kwargs: Any) -> None:
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
    _count_optimizers(observer)
    return inside


def _count_optimizers(observer: Observer) -> None:
    original = torch.optim.Optimizer.__init__

    @functools.wraps(original)
    def init_optimizer(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        observer.known.add_optimizer(self)

    torch.optim.Optimizer.__init__ = init_optimizer


def _hook_backward(observer: Observer, in_step: list[tuple[Any, dict[str, Any] | None]]) -> None:
    """Watch where backward starts: `Tensor.backward` calls `torch.autograd.backward` too."""
    original = torch.autograd.backward
    depth = 0  # not per thread: on an accelerator a checkpoint's inner backward runs in autograd's own thread

    @functools.wraps(original)
    def run_backward(tensors: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal depth
        if depth or not observer.active:
            original(tensors, *args, **kwargs)
            return
        update = in_step[0][1] if in_step else None
        depth += 1
        try:
            # a closure (LBFGS) evaluates the loss many times within one step: the first is the step's loss
            again = update is not None and "evaluated" in update
            if not again:
                observer.losses.backward_from(tensors)
            original(tensors, *args, **kwargs)
        finally:
            depth -= 1
        if update is not None and not again:
            update.update(grad_norm=observer.gradient_norm(in_step[0][0]), evaluated=True)

    torch.autograd.backward = run_backward


def _scaler_classes() -> list[type]:
    """Return GradScaler and every class made from it that has a `scale` or `step` of its own."""
    base = getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler  # torch before 2.3
    classes, waiting = [], [base]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if cls not in classes:
            classes.append(cls)
    return classes


def _hook_scaler(observer: Observer, cls: type) -> None:
    depth = 0

    def wrap_method(name: str, note: Any) -> None:
        original = vars(cls).get(name)
        if original is None:
            return

        @functools.wraps(original)
        def call_method(self: Any, *args: Any, **kwargs: Any) -> Any:
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

        setattr(cls, name, call_method)

    def note_scaled(scaler: Any, before: int, result: Any, outputs: Any) -> None:
        pairs = [(result, outputs)] if isinstance(outputs, torch.Tensor) else zip(result, outputs)
        for scaled_loss, original in pairs:
            if isinstance(original, torch.Tensor) and original.numel() == 1:
                observer.losses.note_scaled(scaled_loss, original, scaler._scale)

    def note_stepped(scaler: Any, before: int, result: Any, *rest: Any) -> None:
        if observer.updates == before:
            observer.update_skipped()

    wrap_method("scale", note_scaled)
    wrap_method("step", note_stepped)
