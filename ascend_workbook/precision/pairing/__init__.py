"""Which operator of the target belongs to which of the baseline. What has no partner is told, never passed over.

Operators pair by name as long as both runs call the same APIs in the same order. Where one run has calls the
other lacks (a fused or decomposed operator, a cast), call numbers shift, and modules may have other names: then the two
sequences are aligned, in time linear in their length, by Myers' O(ND) algorithm: linear where few elements differ.
Where many do, it is run window after window, each begun where the one before is certain.
Source: E. W. Myers, An O(ND) difference algorithm, Algorithmica 1 (1986)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from ascend_workbook.precision.pairing.cells import common_head
from ascend_workbook.precision.record import FORWARD, Module, Operator, Run

#: Differences up to which the whole is aligned at once; elements of a window; how much of it counts as certain.
DIFFERENCES, WINDOW, CERTAIN = 400, 600, 300

#: What torch's wrappers (DistributedDataParallel, torch.compile, FSDP, checkpoints) put into a module's path.
WRAPPERS = ("module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
Keys = Sequence[Hashable]
Matches = list[tuple[int, int]]


def align_keys(left: Keys, right: Keys) -> Matches:
    """Return pairs of positions with equal keys, ascending on both sides."""
    head = 0
    while head < min(len(left), len(right)) and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < min(len(left), len(right)) - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    middle = _align_middle(left[head : len(left) - tail], right[head : len(right) - tail])
    matches = [(at, at) for at in range(head)] + [(a + head, b + head) for a, b in middle]
    return matches + [(len(left) - at, len(right) - at) for at in range(tail, 0, -1)]


def find_gaps(matches: Matches, left: int, right: int) -> list[tuple[int, int, int, int]]:
    """Find what lies between matches on both sides: (from, to) of the left and of the right, where both have
    something."""
    places, a, b = [], 0, 0
    for i, j in [*matches, (left, right)]:
        if i > a and j > b:
            places.append((a, i, b, j))
        a, b = i + 1, j + 1
    return places


def _align_middle(left: Keys, right: Keys) -> Matches:
    common = set(left) & set(right)
    # what the other side never has cannot match: without it fewer differences are left
    places = [[at for at, key in enumerate(side) if key in common] for side in (left, right)]
    keys = [[side[at] for at in numbers] for side, numbers in zip((left, right), places)]
    matches = _align_by_myers(keys[0], keys[1], DIFFERENCES)
    if matches is None:
        matches = _align_windows(keys[0], keys[1])
    return [(places[0][i], places[1][j]) for i, j in matches]


def _align_windows(left: Keys, right: Keys) -> Matches:
    matches: Matches = []
    a = b = 0
    while a < len(left) and b < len(right):
        part = _align_by_myers(left[a : a + WINDOW], right[b : b + WINDOW], 2 * WINDOW) or []
        if a + WINDOW >= len(left) and b + WINDOW >= len(right):
            return matches + [(a + i, b + j) for i, j in part]
        certain = [(a + i, b + j) for i, j in part if i < CERTAIN and j < CERTAIN]
        matches += certain
        last = certain[-1] if certain else (a + CERTAIN - 1, b + CERTAIN - 1)
        a, b = last[0] + 1, last[1] + 1
    return matches


def _align_by_myers(left: Keys, right: Keys, limit: int) -> Matches | None:
    """Find the longest common subsequence, or return None where more than `limit` elements are left over."""
    ends = {1: 0}
    trace: list[dict[int, int]] = []
    for depth in range(limit + 1):
        trace.append(ends.copy())
        for k in range(-depth, depth + 1, 2):
            down = k == -depth or (k != depth and ends[k - 1] < ends[k + 1])
            i = ends[k + 1] if down else ends[k - 1] + 1
            while i < len(left) and i - k < len(right) and left[i] == right[i - k]:
                i += 1
            ends[k] = i
            if i >= len(left) and i - k >= len(right):
                return _trace_matches(trace, len(left), len(right))
    return None


def _trace_matches(trace: list[dict[int, int]], i: int, j: int) -> Matches:
    """Walk back from the end: on each diagonal the matches behind the step that led to it."""
    matches: Matches = []
    for depth in range(len(trace) - 1, 0, -1):
        ends, k = trace[depth], i - j
        down = k == -depth or (k != depth and ends[k - 1] < ends[k + 1])
        before = k + 1 if down else k - 1
        start = ends[before] if down else ends[before] + 1
        matches += [(at, at - k) for at in range(i - 1, start - 1, -1)]
        i, j = ends[before], ends[before] - before
    matches += [(at, at) for at in range(i - 1, -1, -1)]
    return matches[::-1]


@dataclass(frozen=True)
class Pair:
    """One operator on both sides; `order` is the target's order of execution."""

    target: Operator
    baseline: Operator

    @property
    def order(self) -> int:
        return self.target.order

    @property
    def module(self) -> Module | None:
        """Return the module that the call ran in, as the target records it, else as the baseline does."""
        return self.target.module or self.baseline.module


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


def pair_runs(target: Run, baseline: Run, cells: Mapping[str, str] | None = None) -> Pairing:
    """Pairs two runs of the same step and rank; `cells` tells the baseline's names of the target's modules."""
    calls = _forward_calls(target, baseline, cells or {})
    pairs = []
    for operator in target.operators:
        head, call = calls.get((operator.head, operator.call), ("", 0))
        partner = baseline.by_call.get((head, call, operator.direction))
        if partner is not None:
            pairs.append(Pair(operator, partner))
    taken = {pair.target.name for pair in pairs}, {pair.baseline.name for pair in pairs}
    rest = (
        tuple(operator for operator in run.operators if operator.name not in names)
        for run, names in zip((target, baseline), taken)
    )
    return Pairing(target, baseline, tuple(pairs), *rest)


def _forward_calls(target: Run, baseline: Run, cells: Mapping[str, str]) -> dict[tuple[str, int], tuple[str, int]]:
    """Map each target call to its baseline call, from the forward sequences; backward and parameter gradients follow
    them. Calls without a forward entry (parameter gradients, or a backward-only dump) keep their own name."""
    left, right = ([op for op in run.operators if op.direction == FORWARD] for run in (target, baseline))
    known = {(op.head, op.call) for op in left}
    heads = {common_head(op.head, {}): op.head for op in baseline.operators}
    calls = {
        (op.head, op.call): (heads.get(common_head(op.head, cells), op.head), op.call)
        for op in target.operators
        if (op.head, op.call) not in known
    }
    same = [common_head(op.head, cells) for op in left] == [common_head(op.head, {}) for op in right]
    for mine, other in zip(left, right) if same else _align_calls(left, right, cells):
        calls[mine.head, mine.call] = other.head, other.call
    return calls


def _align_calls(
    left: list[Operator], right: list[Operator], cells: Mapping[str, str]
) -> list[tuple[Operator, Operator]]:
    """By name, module and output shapes; inside what is left without the shapes (one may be the fault, or divided among
    ranks), without the module, and then by what the call is (a renamed module, an API by another path), its shapes
    first."""
    matches: Matches = []
    rest = [(0, len(left), 0, len(right))]
    modules = [[_module_of(op) for op in side] for side in (left, right)]
    passes = [(True, True), (True, False), (False, True), (False, False)]
    in_modules = bool({*modules[0]} & {*modules[1]} - {""})
    for at, (by_name, with_shapes) in enumerate([*passes[:2], *passes] if in_modules else passes):
        mine, theirs = (
            [
                (
                    _key_of_call(op, common_head(op.head, names), by_name, with_shapes),
                    path if in_modules and at < 2 else "",
                )
                for op, path in zip(side, paths)
            ]
            for side, names, paths in ((left, cells, modules[0]), (right, {}, modules[1]))
        )
        more = [(a + i, c + j) for a, b, c, d in rest for i, j in align_keys(mine[a:b], theirs[c:d])]
        matches = sorted(matches + more)
        rest = find_gaps(matches, len(left), len(right))
    return [(left[i], right[j]) for i, j in matches]


def _module_of(operator: Operator) -> str:
    """Return the path of the module that a call ran in, without the names that wrappers put before it."""
    pieces = operator.module.path.split(".") if operator.module is not None else []
    return ".".join(piece for piece in pieces if piece not in WRAPPERS)


def _key_of_call(operator: Operator, head: str, by_name: bool, with_shapes: bool) -> Hashable:
    """Return the call's name, or else what it is: a module's class, or an API's name without underscores
    (`Torch.relu` and `Tensor.relu_` are one kind)."""
    api = head.rpartition(".")[2]
    kind = operator.is_module, api if operator.is_module else api.strip("_").lower()
    shapes = tuple(record.shape for record in operator.outputs) if with_shapes else ()
    return head if by_name else kind, shapes
