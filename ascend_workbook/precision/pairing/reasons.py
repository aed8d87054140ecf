"""Why an operator may have no partner in the other run: what its name and its neighbours suggest, told as likely."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ascend_workbook.precision.pairing import Pairing
from ascend_workbook.precision.record import FORWARD, Operator

CAST, FUSED, DECOMPOSED, STOPPED, CUT, REPEATED, BACKWARD_ONLY, EXTRA = (
    "cast",
    "fused",
    "decomposed",
    "stopped",
    "cut",
    "repeated",
    "backward",
    "extra",
)
#: APIs that move, convert or copy and compute nothing.
CASTS = frozenset(
    (
        "to",
        "type",
        "type_as",
        "half",
        "float",
        "double",
        "bfloat16",
        "long",
        "int",
        "bool",
        "cuda",
        "npu",
        "cpu",
        "contiguous",
        "clone",
        "detach",
        "numpy",
        "item",
    )
)
#: One call that does the work of several; torch_npu's own operators begin with `npu_`.
FUSIONS = frozenset(
    (
        "scaled_dot_product_attention",
        "multi_head_attention_forward",
        "rms_norm",
        "layer_norm",
        "group_norm",
        "gelu",
        "silu",
        "softmax",
        "cross_entropy",
    )
)
#: Calls before the other side's last one that may be missing without it having stopped.
TAIL = 3


def find_reasons(pairing: Pairing, side: str) -> Iterator[tuple[Operator, str]]:
    """Yield each operator that only `side` (`target` or `baseline`) called, and the likely reason."""
    alone = pairing.only_target if side == "target" else pairing.only_baseline
    others = pairing.only_baseline if side == "target" else pairing.only_target
    ends = max((_operator_on_side(matched, side).order for matched in pairing.pairs), default=-1)
    cut = (pairing.baseline if side == "target" else pairing.target).cut
    stopped = len(pairing.pairs) > 0 and not others and sum(op.order > ends for op in alone) > TAIL
    holes, other_counts = _number_holes(pairing, side), Counter(_number_holes(pairing, _other_side(side)).values())
    own_counts = Counter(holes.values())
    heads = {_operator_on_side(matched, side).head for matched in pairing.pairs}
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
        elif operator.api.startswith("npu_") or hole is not None and other_counts[hole] > own_counts[hole] == 1:
            yield operator, FUSED
        elif hole is not None and own_counts[hole] > other_counts[hole] >= 1:
            yield operator, DECOMPOSED
        elif operator.api in FUSIONS and hole is not None and other_counts[hole]:
            yield operator, FUSED
        elif operator.head in heads:
            yield operator, REPEATED
        else:
            yield operator, EXTRA


def _number_holes(pairing: Pairing, side: str) -> dict[str, int]:
    """Number each forward operator without a partner by the pair that comes before it."""
    run = pairing.target if side == "target" else pairing.baseline
    numbers = {_operator_on_side(by_name, side).name: number for number, by_name in enumerate(pairing.pairs)}
    by_name, hole = {}, -1
    for operator in run.operators:
        if operator.direction != FORWARD:
            continue
        if operator.name in numbers:
            hole = numbers[operator.name]
        elif operator.api.strip("_") not in CASTS:
            by_name[operator.name] = hole
    return by_name


def _operator_on_side(matched: object, side: str) -> Operator:
    operator: Operator = getattr(matched, side)
    return operator


def _other_side(side: str) -> str:
    return "baseline" if side == "target" else "target"
