"""ACC269: are gradients or activations added up between ranks in a 16-bit format? Each addition rounds to 8 or 11 bits,
in an order that depends on the number of ranks and the algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.advice.seen import HALF, Seen, dtypes, places
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "ACC269"
SOURCE = "https://docs.pytorch.org/docs/stable/fsdp.html#torch.distributed.fsdp.MixedPrecision"
REDUCTIONS = ("all_reduce", "reduce", "reduce_scatter", "reduce_scatter_tensor", "_reduce_scatter_base",
              "all_reduce_coalesced")  # fmt: skip


def check(seen: Seen) -> Iterator[Finding]:
    about = seen.comparison.target.about
    ranks = int(about.about.get("nproc", 1)) if about else len({step.rank for step in seen.steps})
    collectives = [one for one in seen.operators() if one.head.startswith("Distributed.")]
    if not collectives and ranks > 1:
        raise CannotCheck("ACC269.not_recorded", ranks=ranks)
    operators = [one for one in collectives if one.api in REDUCTIONS]
    half = [one for one in operators if dtypes(one.inputs) & set(HALF)]
    if not half:
        return
    partners = seen.partners()
    wider = [one for one in half if (partner := partners.get(one.name)) and not dtypes(partner.inputs) & set(HALF)]
    first = (wider or half)[0]
    args: dict[str, Scalar] = {"count": len(half), "all": len(operators), "names": places(wider or half),
                               "ranks": ranks, "dtype": min(dtypes(first.inputs) & set(HALF)),
                               "source": SOURCE}  # fmt: skip
    status = Status.WARN if wider or seen.parted else Status.NOTE
    yield Finding(CODE, status, "ACC269.wider" if wider else "ACC269.half", args, first.place, weight=48)
