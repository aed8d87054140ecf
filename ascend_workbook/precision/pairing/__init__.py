"""Which operator of the target belongs to which of the baseline. What has no partner is told, never passed over.

Operators pair by name as long as both runs call the same APIs in the same order. Where one run has calls the
other lacks (a fused or decomposed operator, a cast), call numbers shift, and modules may have other names: then the two
sequences are aligned, in time linear in their length.
"""

from __future__ import annotations

from dataclasses import dataclass

from ascend_workbook.precision.pairing.sequences import Matches, align_keys, find_gaps
from ascend_workbook.precision.record import FORWARD, Operator, Run


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
    def renamed_pairs(self) -> tuple[Pair, ...]:
        """Return the pairs whose two sides go by other names, call numbers aside."""
        return tuple(pair for pair in self.pairs if pair.target.head != pair.baseline.head)


def pair_runs(target: Run, baseline: Run) -> Pairing:
    """Pairs two runs of the same step and rank."""
    calls = _forward_calls(target, baseline)
    pairs = []
    for operator in target.operators:
        partner = baseline.by_call.get(_find_partner_call(operator, calls))
        if partner is not None:
            pairs.append(Pair(operator, partner))
    taken_target = {matched.target.name for matched in pairs}
    taken_baseline = {matched.baseline.name for matched in pairs}
    left = tuple(operator for operator in target.operators if operator.name not in taken_target)
    right = tuple(operator for operator in baseline.operators if operator.name not in taken_baseline)
    return Pairing(target, baseline, tuple(pairs), left, right)


def _find_partner_call(operator: Operator, calls: dict[tuple[str, int], tuple[str, int]]) -> tuple[str, int, str]:
    """Find the baseline's call that the alignment paired, in the operator's own direction."""
    head, call = calls.get((operator.head, operator.call), ("", 0))
    return head, call, operator.direction


def _forward_calls(target: Run, baseline: Run) -> dict[tuple[str, int], tuple[str, int]]:
    """Map each target call to its baseline call, from the forward sequences; backward and parameter gradients follow
    them.
    """
    left, right = _select_forward_calls(target), _select_forward_calls(baseline)
    if [op.head for op in left] == [op.head for op in right]:
        matches = [(mine, other) for mine, other in zip(left, right)]
    else:
        matches = _align_calls(left, right)
    return _keep_other_calls(target, left) | {
        (mine.head, mine.call): (other.head, other.call) for mine, other in matches
    }


def _align_calls(left: list[Operator], right: list[Operator]) -> list[tuple[Operator, Operator]]:
    """By name and output shapes; inside what is left by name alone (a shape may be the fault), and then by what the
    call is (a renamed module, an API by another path), its shapes first."""
    matches: Matches = []
    rest = [(0, len(left), 0, len(right))]
    for key in (_head_and_shapes, _head_of, _kind_and_shapes, _kind_of):
        mine, theirs = [key(op) for op in left], [key(op) for op in right]
        more = [(a + i, c + j) for a, b, c, d in rest for i, j in align_keys(mine[a:b], theirs[c:d])]
        matches = sorted(matches + more)
        rest = find_gaps(matches, len(left), len(right))
    return [(left[i], right[j]) for i, j in matches]


def _head_and_shapes(operator: Operator) -> tuple[object, ...]:
    return operator.head, _output_shapes(operator)


def _head_of(operator: Operator) -> str:
    return operator.head


def _kind_and_shapes(operator: Operator) -> tuple[object, ...]:
    return (*_kind_of(operator), _output_shapes(operator))


def _kind_of(operator: Operator) -> tuple[object, ...]:
    """Return a module's class, or an API's name without underscores: `Torch.relu` and `Tensor.relu_` are one kind."""
    return operator.is_module, operator.api if operator.is_module else operator.api.strip("_").lower()


def _output_shapes(operator: Operator) -> tuple[tuple[int, ...], ...]:
    return tuple(record.shape for record in operator.outputs)


def _select_forward_calls(run: Run) -> list[Operator]:
    return [operator for operator in run.operators if operator.direction == FORWARD]


def _keep_other_calls(run: Run, forward: list[Operator]) -> dict[tuple[str, int], tuple[str, int]]:
    """Keep the own name of calls without a forward entry (parameter gradients, or a backward-only dump)."""
    known = {(op.head, op.call) for op in forward}
    return {call: call for op in run.operators if (call := (op.head, op.call)) not in known}
