"""ACC265: are long sums kept in 16 bits: a GPU's split matrix products that add their parts in the reduced format, or
the script's own sums and running sums of 16-bit tensors?
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.advice.seen import HALF, Seen, in_half, places, settings
from helpers.precision.record import Operator
from helpers.precision.tensors.tolerance import BITS, MATMULS
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "ACC265"
SOURCE = "https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html"
FLAGS = {"float16": "fp16_reduced_sums", "bfloat16": "bf16_reduced_sums"}
SUMS = ("sum", "cumsum", "prod", "cumprod", "nansum")
RUNNING = ("cumsum", "cumprod")


def check(seen: Seen) -> Iterator[Finding]:
    operators = list(seen.operators())
    long = [one for one in operators if one.api in SUMS and in_half(one) and _terms(one) >= 2 ** BITS[in_half(one)]]
    if long:
        args: dict[str, Scalar] = {"count": len(long), "names": places(long), "terms": max(map(_terms, long)),
                                   "dtype": in_half(long[0]), "api": long[0].api, "source": SOURCE}  # fmt: skip
        status = Status.WARN if seen.parted else Status.NOTE
        yield Finding(CODE, status, "ACC265.sums", args, long[0].place, weight=40)
    products = [one for one in operators if one.api in MATMULS and in_half(one)]
    about = seen.comparison.baseline.about
    if not products or (about is not None and about.tier != "cuda"):
        return
    record = settings(seen.comparison.baseline)
    if record is None:
        if long:
            return
        raise CannotCheck("ACC265.no_flags", count=len(products))
    for dtype in HALF:
        mine = [one for one in products if in_half(one) == dtype]
        if mine and record.flags.get(FLAGS[dtype]) is True:
            name = f"allow_{'fp16' if dtype == 'float16' else 'bf16'}_reduced_precision_reduction"
            args = {"count": len(mine), "names": places(mine), "dtype": dtype, "source": SOURCE,
                    "switch": f"torch.backends.cuda.matmul.{name} = False"}  # fmt: skip
            status = Status.WARN if seen.parted else Status.NOTE
            yield Finding(CODE, status, "ACC265.split", args, mine[0].place, weight=42)


def _terms(operator: Operator) -> int:
    """How many elements go into one result; of a running sum at most the longest side."""
    given = max((math.prod(one.shape) for one in operator.inputs if one.floating), default=0)
    made = max((math.prod(one.shape) for one in operator.outputs), default=1)
    if operator.api in RUNNING:
        return max((side for one in operator.inputs if one.floating for side in one.shape), default=0)
    return given // max(made, 1)
