"""ACC261: do operators that need float32 run in a 16-bit format: softmax, losses, norms, and attention times V where
the baseline keeps that in float32? PyTorch's autocast brings the former to float32 on a GPU by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.advice.seen import Seen, dtypes, in_half, places
from helpers.precision.record import Operator
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "ACC261"
SOURCE = "https://docs.pytorch.org/docs/stable/amp.html#cuda-ops-that-can-autocast-to-float32"
#: API and module names, in lower case and without underscores at either end.
LOSSES = ("cross_entropy", "nll_loss", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "smooth_l1_loss",
          "kl_div", "crossentropyloss", "nllloss", "mseloss", "bcewithlogitsloss")  # fmt: skip
NORMS = ("layer_norm", "group_norm", "rms_norm", "npu_rms_norm", "norm", "normalize", "cosine_similarity", "layernorm",
         "groupnorm", "rmsnorm", "llamarmsnorm")  # fmt: skip
SOFTMAX = ("softmax", "log_softmax", "softmin", "logsoftmax", "logsumexp")
POWERS = ("exp", "expm1", "log", "log10", "log2", "log1p", "pow", "rsqrt", "reciprocal")
NEEDED = {"softmax": SOFTMAX, "loss": LOSSES, "norm": NORMS, "power": POWERS}
PRODUCTS = ("matmul", "bmm", "einsum")
#: What may lie between a softmax and its product with V.
BETWEEN = ("dropout", "to", "type_as", "half", "bfloat16", "contiguous", "type")


def check(seen: Seen) -> Iterator[Finding]:
    operators = list(seen.operators())
    if not any(not one.is_module or _kind(one) for one in operators):
        raise CannotCheck("ACC261.modules_only")
    partners = seen.partners()
    found: dict[str, list[Operator]] = {}
    for operator in operators:
        kind = _kind(operator)
        if kind and in_half(operator):
            found.setdefault(kind, []).append(operator)
    for operator in _products(operators):
        partner = partners.get(operator.name)
        if in_half(operator) and partner is not None and dtypes(partner.outputs) == {"float32"}:
            found.setdefault("attention", []).append(operator)
    for kind, half in found.items():
        wider = [one for one in half if (partner := partners.get(one.name)) and not in_half(partner)]
        first = (wider or half)[0]
        args: dict[str, Scalar] = {"what": {"say": f"ACC261.{kind}"}, "count": len(half), "dtype": in_half(first),
                                   "wider": len(wider), "names": places(wider or half), "api": first.api,
                                   "source": SOURCE}  # fmt: skip
        status = Status.WARN if wider or seen.parted else Status.NOTE
        yield Finding(
            CODE, status, "ACC261.wider" if wider else "ACC261.half", args, first.place, weight=50 + bool(wider)
        )


def _kind(operator: Operator) -> str:
    name = operator.api.strip("_").lower()
    return next((kind for kind, names in NEEDED.items() if name in names), "")


def _products(operators: list[Operator]) -> Iterator[Operator]:
    """Matrix products of what a softmax gave out: its shape, with nothing but casts and dropout between."""
    waiting: tuple[int, ...] = ()
    for operator in operators:
        name = operator.api.strip("_").lower()
        if name in SOFTMAX and operator.outputs:
            waiting = operator.outputs[0].shape
        elif name in PRODUCTS and waiting and operator.inputs and operator.inputs[0].shape == waiting:
            yield operator
            waiting = ()
        elif name not in BETWEEN and not operator.is_module:
            waiting = ()
