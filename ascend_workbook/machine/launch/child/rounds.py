"""When one training step ends, for any number of optimisers.

With one optimiser every real `optimizer.step` is a step. With several (a GAN's two, one per network part)
a step is a round of them. The first round ends when every optimiser made so far has stepped, or when one
comes round again; the optimiser that ended it ends every later round too. So a GAN that updates D and then
G counts a step at each G; five D updates per G count a step at each D.
"""

from __future__ import annotations

from collections.abc import Callable


class Rounds:
    """Told of each update, says whether a round is complete. Optimisers are known by `id`."""

    def __init__(self, known: Callable[[], int]) -> None:
        self._known = known
        self._first: list[int] = []
        self._marker: int | None = None

    def starts_early(self, optimizer: int) -> bool:
        """Whether this update, about to happen, shows that the first round was over without us knowing."""
        return self._marker is None and optimizer in self._first

    def close_early(self) -> None:
        """Close the first round: its last optimiser is the one that ends rounds from now on."""
        self._marker = self._first[-1]

    def ends_round(self, optimizer: int) -> bool:
        """Count one update that happened and return whether it ends the round."""
        if self._marker is not None:
            return optimizer == self._marker
        self._first.append(optimizer)
        if len(self._first) >= self._known():
            self._marker = optimizer
            return True
        return False
