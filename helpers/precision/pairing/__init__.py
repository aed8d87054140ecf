"""Which operator of the target belongs to which of the baseline. What has no partner is told, never passed over.

Operators pair by name as long as both runs call the same APIs in the same order. Where one run has calls the
other lacks (a fused or decomposed operator, a cast), call numbers shift, and modules may have other names: then the two
sequences are aligned, in time linear in their length.
"""

from __future__ import annotations

from dataclasses import dataclass

from helpers.precision.pairing.sequences import Matches, align, gaps
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

    @property
    def renamed(self) -> tuple[Pair, ...]:
        """Pairs whose two sides go by other names, call numbers aside."""
        return tuple(found for found in self.pairs if found.target.head != found.baseline.head)


def pair(target: Run, baseline: Run) -> Pairing:
    """Pairs two runs of the same step and rank."""
    calls = _forward_calls(target, baseline)
    pairs = []
    for operator in target.operators:
        partner = baseline.by_call.get(_partner(operator, calls))
        if partner is not None:
            pairs.append(Pair(operator, partner))
    taken_target = {found.target.name for found in pairs}
    taken_baseline = {found.baseline.name for found in pairs}
    left = tuple(operator for operator in target.operators if operator.name not in taken_target)
    right = tuple(operator for operator in baseline.operators if operator.name not in taken_baseline)
    return Pairing(target, baseline, tuple(pairs), left, right)


def _partner(operator: Operator, calls: dict[tuple[str, int], tuple[str, int]]) -> tuple[str, int, str]:
    """The baseline's call that the alignment paired, in the operator's own direction."""
    head, call = calls.get((operator.head, operator.call), ("", 0))
    return head, call, operator.direction


def _forward_calls(target: Run, baseline: Run) -> dict[tuple[str, int], tuple[str, int]]:
    """Target call -> baseline call, from the forward sequences; backward and parameter gradients follow them."""
    left, right = _calls(target), _calls(baseline)
    if [op.head for op in left] == [op.head for op in right]:
        found = [(mine, other) for mine, other in zip(left, right)]
    else:
        found = _aligned(left, right)
    return _others(target, left) | {(mine.head, mine.call): (other.head, other.call) for mine, other in found}


def _aligned(left: list[Operator], right: list[Operator]) -> list[tuple[Operator, Operator]]:
    """By name and output shapes; inside what is left by name alone (a shape may be the fault), and then by what the
    call is (a renamed module, an API by another path), its shapes first."""
    matches: Matches = []
    rest = [(0, len(left), 0, len(right))]
    for key in (_key, _head, _kind_and_shapes, _kind):
        mine, theirs = [key(op) for op in left], [key(op) for op in right]
        more = [(a + i, c + j) for a, b, c, d in rest for i, j in align(mine[a:b], theirs[c:d])]
        matches = sorted(matches + more)
        rest = gaps(matches, len(left), len(right))
    return [(left[i], right[j]) for i, j in matches]


def _key(operator: Operator) -> tuple[object, ...]:
    return operator.head, _shapes(operator)


def _head(operator: Operator) -> str:
    return operator.head


def _kind_and_shapes(operator: Operator) -> tuple[object, ...]:
    return (*_kind(operator), _shapes(operator))


def _kind(operator: Operator) -> tuple[object, ...]:
    """A module's class, or an API's name without underscores: `Torch.relu` and `Tensor.relu_` are one kind."""
    return operator.is_module, operator.api if operator.is_module else operator.api.strip("_").lower()


def _shapes(operator: Operator) -> tuple[tuple[int, ...], ...]:
    return tuple(record.shape for record in operator.outputs)


def _calls(run: Run) -> list[Operator]:
    return [operator for operator in run.operators if operator.direction == FORWARD]


def _others(run: Run, forward: list[Operator]) -> dict[tuple[str, int], tuple[str, int]]:
    """Calls without a forward entry (parameter gradients, or a backward-only dump) keep their own name."""
    known = {(op.head, op.call) for op in forward}
    return {call: call for op in run.operators if (call := (op.head, op.call)) not in known}
