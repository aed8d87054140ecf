"""Which operator of the target belongs to which of the baseline. What has no partner is told, never passed over.

Operators pair by name as long as both runs call the same APIs in the same order. Where one run has calls the
other lacks (a fused or decomposed operator), call numbers shift: then the two sequences are aligned.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher

from helpers.precision.record import FORWARD, Operator, Run


@dataclass(frozen=True)
class Pair:
    """One operator on both sides; `order` is the target's order of execution."""

    target: Operator
    baseline: Operator

    @property
    def order(self) -> int:
        return self.target.order


@dataclass(frozen=True)
class Pairing:
    """All pairs of one step and rank in the target's order, and what was left on either side."""

    target: Run
    baseline: Run
    pairs: tuple[Pair, ...]
    only_target: tuple[Operator, ...]
    only_baseline: tuple[Operator, ...]


def pair(target: Run, baseline: Run) -> Pairing:
    """Pairs two runs of the same step and rank."""
    names = _forward_names(target, baseline)
    pairs = []
    for operator in target.operators:
        partner = baseline.by_name.get(_partner_name(operator, names))
        if partner is not None:
            pairs.append(Pair(operator, partner))
    taken_target = {found.target.name for found in pairs}
    taken_baseline = {found.baseline.name for found in pairs}
    left = tuple(operator for operator in target.operators if operator.name not in taken_target)
    right = tuple(operator for operator in baseline.operators if operator.name not in taken_baseline)
    return Pairing(target, baseline, tuple(pairs), left, right)


def _partner_name(operator: Operator, calls: dict[tuple[str, int], tuple[str, int]]) -> str:
    """The baseline's name of the call that the alignment paired, in the operator's own direction."""
    found = calls.get((operator.head, operator.call))
    if found is None:
        return ""
    head, call = found
    if operator.is_module:
        return f"{head}.{operator.direction}.{call}"
    return f"{head}.{call}.{operator.direction}"


def _forward_names(target: Run, baseline: Run) -> dict[tuple[str, int], tuple[str, int]]:
    """Target call -> baseline call, from the forward sequences; backward and parameter gradients follow them."""
    left, right = _calls(target), _calls(baseline)
    if [op.head for op in left] == [op.head for op in right]:
        found = [(mine, other) for mine, other in zip(left, right)]
    else:
        found = _aligned(left, right)
    return _others(target, left) | {(mine.head, mine.call): (other.head, other.call) for mine, other in found}


def _aligned(left: list[Operator], right: list[Operator]) -> list[tuple[Operator, Operator]]:
    """Longest common runs by API and output shapes; inside what is left, by API alone (a shape may be the fault)."""
    matcher = SequenceMatcher(None, [_key(op) for op in left], [_key(op) for op in right], autojunk=False)
    found: list[tuple[Operator, Operator]] = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            found += zip(left[a:b], right[c:d])
        elif kind == "replace":
            heads = SequenceMatcher(None, [op.head for op in left[a:b]], [op.head for op in right[c:d]], autojunk=False)
            for block in heads.get_matching_blocks():
                i, j, size = a + block.a, c + block.b, block.size
                found += zip(left[i : i + size], right[j : j + size])
    return found


def _key(operator: Operator) -> tuple[object, ...]:
    return operator.head, tuple(record.shape for record in operator.outputs)


def _calls(run: Run) -> list[Operator]:
    return [operator for operator in run.operators if operator.direction == FORWARD]


def _others(run: Run, forward: list[Operator]) -> dict[tuple[str, int], tuple[str, int]]:
    """Calls without a forward entry (parameter gradients, or a backward-only dump) keep their own name."""
    known = {(op.head, op.call) for op in forward}
    return {call: call for op in run.operators if (call := (op.head, op.call)) not in known}
