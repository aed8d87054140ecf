"""A launch plugin: repeated blocks of the model keep no activations, they are computed again in the backward pass.

What `model.gradient_checkpointing_enable()` does in transformers, for any model: the children of the largest ModuleList
or Sequential of one class run under torch.utils.checkpoint. Runs in the user's process by path and imports nothing
of the workbook."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

#: Fewer blocks of one class are no stack.
LEAST = 2


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Wrap the blocks just before the first forward."""
    observer.on_model(wrap_blocks)


def wrap_blocks(model: torch.nn.Module) -> None:
    """Wrap each block's forward."""
    for block in find_blocks(model):
        block.forward = recompute_forward(block.forward)


def find_blocks(model: torch.nn.Module) -> list[torch.nn.Module]:
    """Find the blocks: of all lists of modules the one whose blocks of one class hold most parameters."""
    best: list[torch.nn.Module] = []
    for module in model.modules():
        if not isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential)):
            continue
        kinds = Counter(type(child) for child in module)
        if not kinds:
            continue
        kind, count = kinds.most_common(1)[0]
        blocks = [child for child in module if type(child) is kind]
        if count >= LEAST and _count_parameters(blocks) > _count_parameters(best):
            best = blocks
    return best


def _count_parameters(blocks: list[torch.nn.Module]) -> int:
    return sum(parameter.numel() for block in blocks for parameter in block.parameters())


def recompute_forward(forward: Any) -> Any:
    def run_again(*args: Any, **kwargs: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*args, **kwargs)
        return checkpoint(forward, *args, use_reentrant=False, **kwargs)

    return run_again
