"""A launch plugin: what the forward pass keeps for the backward pass lies in the host's memory (save_on_cpu).

Runs in the user's process by path and imports nothing of the workbook."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.graph import save_on_cpu


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Wrap the model's forward just before the first."""
    observer.on_model(move_saved)


def move_saved(model: torch.nn.Module) -> None:
    """Let what the model saves be moved to the host, and back when it is used."""
    forward = model.forward

    def move_and_run(*args: Any, **kwargs: Any) -> Any:
        with save_on_cpu(pin_memory=False):
            return forward(*args, **kwargs)

    model.forward = move_and_run
