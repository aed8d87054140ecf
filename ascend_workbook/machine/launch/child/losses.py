"""The loss of an update: the mean of the one-element tensors that `backward` started from since the last one.

A loss that a GradScaler scaled is counted unscaled. A backward inside a backward (activation checkpointing)
is none of the script's, nor is one that starts from a tensor of many elements.
"""

from __future__ import annotations

from typing import Any

import torch

from . import gauges

#: How far up the graph a scaled loss is looked for: `scaler.scale(loss) / accumulate` is two nodes.
DEPTH = 4


class Losses:
    def __init__(self) -> None:
        self._pending: list[torch.Tensor] = []
        self._scaled: list[tuple[Any, torch.Tensor, torch.Tensor]] = []

    def note_scaled(self, result: torch.Tensor, original: torch.Tensor, scale: torch.Tensor) -> None:
        """Note that a GradScaler made `result` of `original`; both are one-element tensors."""
        self._scaled.append((result.grad_fn, gauges.keep_scalar(original), gauges.keep_scalar(scale)))

    def backward_from(self, tensors: Any) -> None:
        """Note that a backward of the script's begins at these tensors."""
        roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        for root in roots:
            if isinstance(root, torch.Tensor) and root.numel() == 1:
                self._pending.append(self._find_original(root))

    def take_mean(self) -> tuple[torch.Tensor | None, int]:
        """Return the mean loss (0-d, on its device) and the number of micro-batches since the last call."""
        pending, self._pending = self._pending, []
        self._scaled = []
        if not pending:
            return None, 0
        if len(pending) == 1:
            return pending[0], 1
        with torch.no_grad():
            total = pending[0]
            for other in pending[1:]:
                total = gauges.add(total, other)
            return gauges.divide(total, len(pending)), len(pending)

    def _find_original(self, root: torch.Tensor) -> torch.Tensor:
        for node, original, _ in self._scaled:
            if node is not None and node is root.grad_fn:
                return original
        node, depth = root.grad_fn, 0
        while node is not None and depth < DEPTH:
            for made_by, _, scale in self._scaled:
                if node is made_by:
                    with torch.no_grad():
                        return gauges.divide(gauges.keep_scalar(root), scale)
            following = node.next_functions
            node, depth = (following[0][0] if following else None), depth + 1
        return gauges.keep_scalar(root)
