"""What of two runs is compared: all of it, or the operators that patterns name and a sample of their elements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.pairing import Pairing
from ascend_workbook.precision.record import Operator
from ascend_workbook.precision.tensors.measuring import WHOLE, Sample


@dataclass(frozen=True)
class Selection:
    """`names` are shell patterns of operator names; a plain word stands for every name that holds it
    (`layer1`, `*conv2d.*.forward`). Empty: every operator."""

    names: tuple[str, ...] = ()
    sample: Sample = WHOLE

    def select_pairs(self, pairing: Pairing) -> Pairing:
        """Return the pairing with the operators that are asked for. Raises WorkbookError where there is none."""
        if not self.names:
            return pairing
        pairs = tuple(
            pair for pair in pairing.pairs if self.matches_operator(pair.target) or self.matches_operator(pair.baseline)
        )
        if not pairs:
            raise WorkbookError(
                "precision.nothing_selected",
                names=list(self.names),
                known=[pair.target.name for pair in pairing.pairs[:3]],
            )
        left, right = (
            tuple(filter(self.matches_operator, side)) for side in (pairing.only_target, pairing.only_baseline)
        )
        return replace(pairing, pairs=pairs, only_target=left, only_baseline=right)

    def matches_operator(self, operator: Operator) -> bool:
        """Return whether a pattern names the operator."""
        return any(
            fnmatchcase(operator.name, name if any(sign in name for sign in "*?[") else f"*{name}*")
            for name in self.names
        )


#: No selection.
EVERYTHING = Selection()
