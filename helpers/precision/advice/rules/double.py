"""ACC264: does the script compute in float64 on the NPU? Many of its kernels have no double: torch_npu computes them in
float32, on the slow AI CPU, or raises; the GPU computes them in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from helpers.finding import Finding, Status
from helpers.precision.advice.seen import Seen, dtypes, places
from helpers.precision.record import Operator
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "ACC264"
SOURCE = "https://gitcode.com/Ascend/msprof-analyze/blob/master/docs/zh/aicpu_operator_replacement_example.md"


def check(seen: Seen) -> Iterator[Finding]:
    about = seen.comparison.target.about
    if about is not None and not about.tier.startswith("npu"):
        raise CannotCheck("ACC264.no_npu", tier=about.tier)
    partners = seen.partners()
    kept, lost = [], []
    for operator in filter(_mine, seen.operators()):
        partner = partners.get(operator.name)
        if "float64" in _all(operator):
            kept.append(operator)
        elif partner is not None and "float64" in _all(partner):
            lost.append(operator)
    for key, found in (("lost", lost), ("kept", kept)):
        if found:
            args: dict[str, Scalar] = {"count": len(found), "names": places(found), "source": SOURCE}
            yield Finding(CODE, Status.WARN, f"ACC264.{key}", args, found[0].place, weight=45)


def _mine(operator: Operator) -> bool:
    """Not called by torch_npu itself, as its GradScaler does, which a user cannot change: ACC215 notes those."""
    return operator.place is None or "torch_npu" not in Path(operator.place.path).parts


def _all(operator: Operator) -> set[str]:
    return dtypes((*operator.inputs, *operator.outputs))
