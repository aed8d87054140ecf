"""ACC266: do the two sides draw other random numbers? Generators of different devices give other ones from one seed, so
that dropout masks differ and everything after them; no seed mends that.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.advice.seen import Seen, places
from helpers.precision.divergence import Judgement
from helpers.precision.record import Operator
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "ACC266"
SOURCE = "https://www.hiascend.com/document/detail/en/mindstudio/830/practicalcases/LargeModelTrainingAccuracy/toolsample3_005.html"
MASKS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "rrelu",
         "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "DropPath")  # fmt: skip
DRAWS = ("rand", "randn", "rand_like", "randn_like", "randint", "randperm", "bernoulli", "bernoulli_", "multinomial",
         "normal", "normal_", "uniform_", "gumbel_softmax", "poisson", "exponential_")  # fmt: skip
#: Masks that differ leave an error of the size of the values; rounding never does.
LARGE, TIMES = 0.05, 10.0


def check(seen: Seen) -> Iterator[Finding]:
    drawing = [one for one in seen.forward() if _draws(one.agreement.pair.target)]
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


def _draws(operator: Operator) -> bool:
    """Whether it draws at all: dropout not in evaluation, nor with a probability of 0."""
    given = dict(operator.arguments)
    if operator.api in DRAWS:
        return True
    if operator.api not in MASKS:
        return False
    probability = given.get("input.p", given.get("input.1", 0.5))
    training = given.get("input.training", given.get("input.2", True))
    return bool(training) and probability > 0


def _other(one: Judgement) -> bool:
    error, before = one.agreement.error_out or 0.0, one.agreement.error_in
    return error > LARGE and error > TIMES * before
