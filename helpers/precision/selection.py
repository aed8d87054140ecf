"""What of two runs is compared: all of it, or the operators that patterns name and a sample of their elements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from helpers.errors import WorkbookError
from helpers.precision.pairing import Pairing
from helpers.precision.record import Operator
from helpers.precision.tensors.measuring import WHOLE, Sample


@dataclass(frozen=True)
class Selection:
    """`names` are shell patterns of operator names; a plain word stands for every name that holds it
    (`layer1`, `*conv2d.*.forward`). Empty: every operator."""

    names: tuple[str, ...] = ()
    sample: Sample = WHOLE

    def of(self, pairing: Pairing) -> Pairing:
        """The pairing with the operators that are asked for. Raises WorkbookError where there is none."""
        if not self.names:
            return pairing
        pairs = tuple(pair for pair in pairing.pairs if self.wants(pair.target) or self.wants(pair.baseline))
        if not pairs:
            raise WorkbookError("precision.nothing_selected", names=list(self.names),
                                known=[pair.target.name for pair in pairing.pairs[:3]])  # fmt: skip
        left, right = (tuple(filter(self.wants, side)) for side in (pairing.only_target, pairing.only_baseline))
        return replace(pairing, pairs=pairs, only_target=left, only_baseline=right)

    def wants(self, operator: Operator) -> bool:
        """Whether a pattern names the operator."""
        return any(fnmatchcase(operator.name, name if any(sign in name for sign in "*?[") else f"*{name}*")
                   for name in self.names)  # fmt: skip


#: No selection.
EVERYTHING = Selection()
