"""Which optimisers the script made."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any


class Known:
    """The optimisers that exist, without keeping them alive."""

    def __init__(self) -> None:
        self._made: list[weakref.ref[Any]] = []
        self._names: dict[int, str] = {}
        #: Called once, when the first is made.
        self.at_first: Callable[[], None] | None = None

    def add_optimizer(self, optimizer: Any) -> None:
        self._made.append(weakref.ref(optimizer))
        if self.at_first is not None:
            call, self.at_first = self.at_first, None
            call()

    def count_optimizers(self) -> int:
        """Count the optimisers; one wrapped in another holds the same parameters and counts once. One wrapped in
        another holds the same parameters and counts once.
        """
        alive = [optimizer for optimizer in (ref() for ref in self._made) if optimizer is not None]
        return max(1, len({_first_parameter(optimizer) for optimizer in alive}))

    def name_optimizer(self, optimizer: Any) -> str:
        """Return `0 SGD`, `1 Adam`: optimisers are numbered in the order of their first update."""
        number = len(self._names)
        return self._names.setdefault(id(optimizer), f"{number} {type(optimizer).__name__}")


def _first_parameter(optimizer: Any) -> int:
    groups = getattr(optimizer, "param_groups", None) or [{"params": []}]
    return id(groups[0]["params"][0]) if groups[0]["params"] else id(optimizer)
