"""ACC266: do the two sides draw other random numbers? Generators of different devices give other ones from one seed, so
that dropout masks differ and everything after them; no seed mends that.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.advice.seen import Seen, places
from helpers.precision.divergence import DRAWN, Judgement
from helpers.precision.divergence.drawn import MASKS, SOURCE, draws, other_numbers
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "ACC266"


def check(seen: Seen) -> Iterator[Finding]:
    drawing = [one for one in seen.forward() if draws(one.agreement.pair.target)]
    if not drawing:
        return
    known = [one for one in drawing if one.agreement.error_out is not None]
    if not known:
        raise CannotCheck("ACC266.no_values", count=len(drawing))
    other = [one.agreement.pair.target for one in known if _other(one)]
    if other:
        args: dict[str, Scalar] = {"count": len(other), "all": len(known), "names": places(other), "source": SOURCE}
        key = "masks" if other[0].api in MASKS else "draws"
        yield Finding(CODE, Status.WARN, f"ACC266.{key}", args, other[0].place, weight=80)


def _other(one: Judgement) -> bool:
    return one.outcome == DRAWN or other_numbers(one.agreement)
