"""What `watch.py` hooks into a training: modules at one step in so many, clipping, and scalers. Loaded by path."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.utils.clip_grad as clip_grad

if TYPE_CHECKING:
    from ascend_workbook.precision.child.watch import Recorder

#: Most modules whose activations are measured.
MODULES = 200

_detach, _no_grad = torch.Tensor.__base__.detach, torch.no_grad
_norm = torch._C._linalg.linalg_vector_norm


class Activations:
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
