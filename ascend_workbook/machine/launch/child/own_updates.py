"""Updates of a script that has no optimizer of torch's: its own class, or lines that change the parameters."""

from __future__ import annotations

from collections.abc import Iterable

import torch

_equal, _clone, _detach = (
    torch._C._VariableFunctions.equal,
    torch._C._VariableFunctions.clone,
    torch.Tensor.__base__.detach,
)

#: So many updates in a row that come after as many backward passes: from then on these are counted, nothing is compared
ALIKE = 3


class OwnUpdates:
    """Sees at the beginning of a backward pass whether the parameters were changed since the one before: one of them,
    the last of those that have a gradient, is compared with what it was."""

    def __init__(self) -> None:
        self._probe: torch.Tensor | None = None
        self._copy: torch.Tensor | None = None
        self._passes = 0
        self._counts: list[int] = []

    def has_ended(self) -> bool:
        """Return whether an update has been made since the pass before; call it when one begins."""
        if not self._passes or not self._was_changed():
            return False
        self._counts.append(self._passes)
        self._passes, self._probe = 0, None
        return True

    def pass_ended(self, models: Iterable[torch.nn.Module]) -> None:
        """Note that a pass has ended, and which parameter is to be compared."""
        self._passes += 1
        if self._probe is None and not self._is_regular:
            parameters = [each for model in models for each in model.parameters() if each.requires_grad]
            parameters.sort(key=lambda parameter: parameter.grad is not None)
            self._probe = parameters[-1] if parameters else None
            self._copy = None if self._probe is None else _copy(self._probe)

    @property
    def _is_regular(self) -> bool:
        last = self._counts[-ALIKE:]
        return len(last) == ALIKE and len(set(last)) == 1

    def _was_changed(self) -> bool:
        if self._is_regular:
            return self._passes == self._counts[-1]
        if self._probe is None or self._copy is None:
            return False
        try:
            return not _equal(_detach(self._probe), self._copy)
        except (RuntimeError, NotImplementedError):  # without values (meta), or of another shape now
            self._probe = None
            return False


def _copy(parameter: torch.Tensor) -> torch.Tensor | None:
    with torch.no_grad():
        return None if parameter.is_meta else _clone(_detach(parameter))
