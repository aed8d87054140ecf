"""Why an operator may have no partner in the other run: what its name and its neighbours suggest, told as likely."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ascend_workbook.precision.pairing import Pairing
from ascend_workbook.precision.record import FORWARD, Operator, Run

# ruff: noqa: SIM905 - a column of names reads better without quotes
CAST, FUSED, DECOMPOSED, STOPPED, CUT, REPEATED, BACKWARD_ONLY, EXTRA = """
cast fused decomposed stopped cut repeated backward extra
""".split()
#: APIs that move, convert or copy and compute nothing.
CASTS = frozenset(
    """
to type type_as half float double bfloat16 long int bool cuda npu cpu contiguous clone detach numpy item
""".split()
)
#: One call that does the work of several; torch_npu's own operators begin with `npu_`.
FUSIONS = frozenset(
    """
scaled_dot_product_attention multi_head_attention_forward rms_norm layer_norm group_norm gelu silu softmax cross_entropy
""".split()
)
#: Calls before the other side's last one that may be missing without it having stopped.
TAIL = 3


def find_reasons(pairing: Pairing, side: str) -> Iterator[tuple[Operator, str]]:
    """Yield each operator that only `side` (`target` or `baseline`) called, and the likely reason."""
    other = "baseline" if side == "target" else "target"
    alone, others = getattr(pairing, f"only_{side}"), getattr(pairing, f"only_{other}")
    mine, theirs = ([getattr(pair, name) for pair in pairing.pairs] for name in (side, other))
    ends = max((operator.order for operator in mine), default=-1)
    cut = getattr(pairing, other).cut
    stopped = len(mine) > 0 and not others and sum(op.order > ends for op in alone) > TAIL
    holes = _number_holes(getattr(pairing, side), mine)
    own_counts = Counter(holes.values())
    other_counts = Counter(_number_holes(getattr(pairing, other), theirs).values())
    heads = {operator.head for operator in mine}
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


def _number_holes(run: Run, paired: list[Operator]) -> dict[str, int]:
    """Number each forward operator without a partner by the pair that comes before it."""
    numbers = {operator.name: number for number, operator in enumerate(paired)}
    by_name, hole = {}, -1
    for operator in run.operators:
        if operator.direction != FORWARD:
            continue
        if operator.name in numbers:
            hole = numbers[operator.name]
        elif operator.api.strip("_") not in CASTS:
            by_name[operator.name] = hole
    return by_name
