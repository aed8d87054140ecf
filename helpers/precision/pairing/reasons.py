"""Why an operator may have no partner in the other run: what its name and its neighbours suggest, told as likely."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from helpers.precision.pairing import Pairing
from helpers.precision.record import FORWARD, Operator

CAST, FUSED, DECOMPOSED, STOPPED, CUT, REPEATED, BACKWARD_ONLY, EXTRA = (
    "cast", "fused", "decomposed", "stopped", "cut", "repeated", "backward", "extra")  # fmt: skip
#: APIs that move, convert or copy and compute nothing.
CASTS = frozenset(("to", "type", "type_as", "half", "float", "double", "bfloat16", "long", "int", "bool", "cuda", "npu",
                   "cpu", "contiguous", "clone", "detach", "numpy", "item"))  # fmt: skip
#: One call that does the work of several; torch_npu's own operators begin with `npu_`.
FUSIONS = frozenset(("scaled_dot_product_attention", "multi_head_attention_forward", "rms_norm", "layer_norm",
                     "group_norm", "gelu", "silu", "softmax", "cross_entropy"))  # fmt: skip
#: Calls before the other side's last one that may be missing without it having stopped.
TAIL = 3


def reasons(pairing: Pairing, side: str) -> Iterator[tuple[Operator, str]]:
    """Each operator that only `side` (`target` or `baseline`) called, and the likely reason."""
    alone = pairing.only_target if side == "target" else pairing.only_baseline
    others = pairing.only_baseline if side == "target" else pairing.only_target
    ends = max((_of(found, side).order for found in pairing.pairs), default=-1)
    cut = (pairing.baseline if side == "target" else pairing.target).cut
    stopped = len(pairing.pairs) > 0 and not others and sum(op.order > ends for op in alone) > TAIL
    holes, theirs = _holes(pairing, side), Counter(_holes(pairing, _other(side)).values())
    mine = Counter(holes.values())
    heads = {_of(found, side).head for found in pairing.pairs}
    forward = {(op.head, op.call) for op in alone if op.direction == FORWARD}
    for operator in alone:
        hole = holes.get(operator.name)
        if cut and operator.order > ends:
            yield operator, CUT
        elif operator.direction != FORWARD and (operator.head, operator.call) not in forward:
            yield operator, BACKWARD_ONLY
        elif stopped and operator.order > ends:
            yield operator, STOPPED
        elif operator.api.strip("_") in CASTS:
            yield operator, CAST
        elif operator.api.startswith("npu_") or hole is not None and theirs[hole] > mine[hole] == 1:
            yield operator, FUSED
        elif hole is not None and mine[hole] > theirs[hole] >= 1:
            yield operator, DECOMPOSED
        elif operator.api in FUSIONS and hole is not None and theirs[hole]:
            yield operator, FUSED
        elif operator.head in heads:
            yield operator, REPEATED
        else:
            yield operator, EXTRA


def _holes(pairing: Pairing, side: str) -> dict[str, int]:
    """Forward operators without a partner, each by the number of the pair that comes before it."""
    run = pairing.target if side == "target" else pairing.baseline
    numbers = {_of(found, side).name: number for number, found in enumerate(pairing.pairs)}
    found, hole = {}, -1
    for operator in run.operators:
        if operator.direction != FORWARD:
            continue
        if operator.name in numbers:
            hole = numbers[operator.name]
        elif operator.api.strip("_") not in CASTS:
            found[operator.name] = hole
    return found


def _of(found: object, side: str) -> Operator:
    operator: Operator = getattr(found, side)
    return operator


def _other(side: str) -> str:
    return "baseline" if side == "target" else "target"
