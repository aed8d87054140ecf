"""What the ranks of one run say of one another: every collective's outputs against what all ranks gave to it, copies
that must be equal, gradients against the mean of the ranks' own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np

from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.precision.ranks.reading import Call, Piece, Record
from ascend_workbook.precision.state.reading import Floats, States, Tensor

#: Relative difference that rounding explains, by dtype: of a sum over few ranks.
ROUNDING = {"float64": 1e-6, "float32": 2e-6, "float16": 4e-3, "bfloat16": 3e-2}
COARSE = 0.02
#: A gradient is the ranks' mean, or a rank's own, to within this.
SAME = 1e-5
WIDE, HALVES = ("float32", "float64"), ("float16", "bfloat16")


@dataclass(frozen=True)
class Fault:
    """Something that the ranks contradict each other in. `kind` ends the sentence's key."""

    step: int
    ranks: tuple[int, ...]
    kind: str
    detail: str = ""
    names: tuple[str, ...] = ()
    place: str = ""
    args: Mapping[str, Scalar] = field(default_factory=dict)


def check_ranks(records: Mapping[int, Record], states: States) -> list[Fault]:
    """All contradictions among the ranks of one run, the earliest first."""
    faults = [*check_calls(records), *check_reductions(records, states)]
    return sorted(faults, key=lambda fault: fault.step)


def check_calls(records: Mapping[int, Record]) -> Iterator[Fault]:
    """Hold the ranks' calls of each group against each other, step by step; a group's calls are no more compared within
    a step once two ranks disagree on what comes next."""
    groups: dict[tuple[int, tuple[int, ...]], dict[int, list[Call]]] = defaultdict(lambda: defaultdict(list))
    for rank, record in records.items():
        for call in record.calls:
            if call.operation not in ("send", "recv"):
                groups[call.step, call.group][rank].append(call)
    for (step, members), by_rank in sorted(groups.items()):
        known = [rank for rank in members if rank in records and not records[rank].left_out]
        if len(known) < len(members):
            continue
        for row in zip_longest(*(by_rank.get(rank, []) for rank in members)):
            fault = _check_row(step, members, row)
            if fault is not None:
                yield fault
                break
    yield from _check_messages(records)


def _check_row(step: int, members: tuple[int, ...], row: tuple[Call | None, ...]) -> Fault | None:
    """The calls that stand at the same place of every rank's list: one collective, where all is right."""
    there = [call for call in row if call is not None]
    first = there[0]
    absent = tuple(rank for rank, call in zip(members, row) if call is None)
    args: dict[str, Scalar] = {"operation": first.operation, "number": first.order}
    if absent:
        return Fault(step, absent, "absent", "", first.names, first.place, args)
    calls = [call for call in row if call is not None]
    for other in calls[1:]:
        if other.operation != first.operation:
            args = {**args, "other": other.operation, "other_place": other.place}
            return Fault(step, (first.rank, other.rank), "order", "operation", first.names, first.place, args)
        if other.kind != first.kind:
            args = {**args, "left": " ".join(first.kind), "right": " ".join(other.kind), "other_place": other.place}
            return Fault(step, (first.rank, other.rank), "order", "kind", first.names, first.place, args)
        if first.names and other.names and first.names != other.names:
            args = {**args, "left": first.names[0], "right": other.names[0], "other_place": other.place}
            return Fault(step, (first.rank, other.rank), "order", "names", first.names, first.place, args)
    return _check_results(step, calls, args)


def _check_results(step: int, calls: list[Call], args: dict[str, Scalar]) -> Fault | None:
    """Each rank's outputs against what all ranks gave."""
    first = calls[0]
    for at, call in enumerate(calls):
        if call.received is None:
            continue
        for number, piece in enumerate(call.received):
            wanted = _expect_piece(calls, at, number)
            if wanted is None:
                continue
            error, allowed = wanted.measure_error(piece)
            if error > allowed:
                words: dict[str, Scalar] = {**args, "error": error, "allowed": allowed}
                return Fault(step, (call.rank,), "result", "", first.names, call.place, words)
    return None


@dataclass(frozen=True)
class Expected:
    """What a piece must be: one that a rank gave, or the reduction of several."""

    pieces: tuple[Piece, ...]
    reduction: str = ""

    def measure_error(self, piece: Piece) -> tuple[float, float]:
        """The relative difference of a piece that was received, and what is allowed."""
        if len(self.pieces) == 1:
            same = self.pieces[0].checksum == piece.checksum
            return (0.0 if same else _relative(piece.sketch, self.pieces[0].sketch, self.pieces) or 1.0), 0.0
        allowed = max(ROUNDING.get(part.dtype, 0.0) for part in (*self.pieces, piece))
        sketches = np.stack([part.sketch for part in self.pieces])
        samples = np.stack([part.sample for part in self.pieces])
        if not (np.isfinite(sketches).all() and np.isfinite(piece.sketch).all()):
            return 0.0, 0.0  # what is not finite is told where it arises
        if self.reduction in ("sum", "avg"):
            divisor = len(self.pieces) if self.reduction == "avg" else 1
            return _relative(piece.sketch, sketches.sum(0) / divisor, self.pieces), allowed
        extremes = {"max": samples.max(0), "min": samples.min(0)}
        if self.reduction in extremes:
            return _relative(piece.sample, extremes[self.reduction], self.pieces), allowed
        return 0.0, 0.0


def _relative(mine: Floats, theirs: Floats, pieces: tuple[Piece, ...]) -> float:
    if mine.shape != theirs.shape:
        return 1.0
    size = max([float(np.linalg.norm(theirs)), *(piece.norm for piece in pieces)])
    return float(np.linalg.norm(mine - theirs)) / size if size else float(np.any(mine))


def _expect_piece(calls: list[Call], at: int, number: int) -> Expected | None:
    """What the rank at that place must receive as piece of that number; None where nothing is known of it."""
    operation, reduction = calls[0].operation, calls[0].reduction
    ranks = [call.rank for call in calls]
    try:
        if operation == "all_reduce":
            return Expected(tuple(call.given[0] for call in calls), reduction)
        if operation == "reduce":
            return Expected(tuple(c.given[0] for c in calls), reduction) if calls[at].peer == ranks[at] else None
        if operation == "broadcast":
            return Expected((calls[ranks.index(calls[at].peer or 0)].given[0],))
        if operation in ("all_gather", "gather"):
            return Expected((calls[number].given[0],))
        if operation == "reduce_scatter":
            return Expected(tuple(call.given[at] for call in calls), reduction)
        if operation == "all_to_all":
            return Expected((calls[number].given[at],))
        if operation == "scatter":
            return Expected((calls[ranks.index(calls[at].peer or 0)].given[at],))
    except (IndexError, ValueError):
        return None
    return None


def find_coarse(records: Mapping[int, Record], dtype: str) -> list[Call]:
    """The first rank's reductions in a 16-bit format, where parameters are of a wider one."""
    if dtype not in WIDE or not records:
        return []
    calls = records[min(records)].calls
    return [call for call in calls if "reduce" in call.operation and call.kind[2] in HALVES and call.step >= 0]


def find_one_sided(own: Mapping[int, Record], other: Mapping[int, Record]) -> Fault | None:
    """The first call that a run makes more often in a step than another run of as many ranks, on its lowest rank."""
    ranks = own.keys() & other.keys()
    if own.keys() != other.keys() or any(
        part.left_out or part.error for side in (own, other) for part in side.values()
    ):
        return None
    for rank in sorted(ranks):
        there = Counter(call.sort for call in other[rank].calls)
        steps = {call.step for call in other[rank].calls}
        for call in own[rank].calls:
            there[call.sort] -= 1
            if there[call.sort] < 0 and call.step in steps:
                args: dict[str, Scalar] = {"operation": call.operation, "number": call.order}
                return Fault(call.step, (rank,), "one_side", "", call.names, call.place, args)
    return None


def _check_messages(records: Mapping[int, Record]) -> Iterator[Fault]:
    """What one rank sends to another against what that receives, in order."""
    sent: dict[tuple[int, int, int], list[Call]] = defaultdict(list)
    received: dict[tuple[int, int, int], list[Call]] = defaultdict(list)
    for rank, record in records.items():
        for call in record.calls:
            if call.operation == "send" and call.peer is not None:
                sent[call.step, rank, call.peer].append(call)
            elif call.operation == "recv" and call.peer is not None:
                received[call.step, call.peer, rank].append(call)
    for key in sorted(sent.keys() & received.keys()):
        for give, take in zip(sent[key], received[key]):
            if not (give.given and take.received) or give.given[0].checksum == take.received[0].checksum:
                continue
            args: dict[str, Scalar] = {"operation": "recv", "number": take.order, "error": 1.0, "allowed": 0.0}
            yield Fault(key[0], (take.rank,), "result", "", take.names, take.place, args)
            break


def check_reductions(records: Mapping[int, Record], states: States) -> Iterator[Fault]:
    """Under DistributedDataParallel: each gradient after backward against the mean of the ranks' own gradients, the
    first step that contradicts."""
    members = next((group for record in records.values() for group in record.copied), ())
    if not members or any(rank not in records or rank not in states.ranks for rank in members):
        return
    for step in sorted(records[members[0]].local):
        wrong: list[tuple[float, str, float]] = []
        after = {rank: _gradients_of(states, rank, step) for rank in members}
        for name in records[members[0]].local[step]:
            locals_ = [records[rank].local.get(step, {}).get(name) for rank in members]
            tensors = [after[rank].get(name) for rank in members]
            if any(part is None or not part.clean for part in locals_) or any(tensor is None for tensor in tensors):
                continue
            mean = np.mean([part.sketch for part in locals_ if part is not None], axis=0)
            size = max(float(np.linalg.norm(part.sketch)) for part in locals_ if part is not None)
            errors = [float(np.linalg.norm(tensor.sketch - mean)) for tensor in tensors if tensor is not None]
            worst = max(errors) / size if size else 0.0
            alone = [
                np.linalg.norm(tensor.sketch - part.sketch) for tensor, part in zip(tensors, locals_) if tensor and part
            ]
            if size and max(alone) <= SAME * size < worst * size:
                continue  # not reduced at all: told as copies that differ
            if np.isfinite(worst) and worst > SAME:
                sketch = next(tensor.sketch for tensor in tensors if tensor is not None)
                factor = float(np.dot(sketch, mean) / np.dot(mean, mean)) if np.any(mean) else 0.0
                wrong.append((worst, name, factor))
        if wrong:
            wrong.sort(reverse=True)
            total = len(records[members[0]].local[step])
            yield _tell_reduction(step, members, wrong, total)
            return


def _tell_reduction(step: int, members: tuple[int, ...], wrong: list[tuple[float, str, float]], total: int) -> Fault:
    worst, names = wrong[0][0], tuple(name for _, name, _ in wrong)
    factors = [factor for _, _, factor in wrong]
    args: dict[str, Scalar] = {"count": len(wrong), "of": total, "error": worst, "factor": round(factors[0], 4)}
    shared = max(factors) - min(factors) <= 1e-3 * abs(factors[0]) and abs(factors[0] - 1) > 1e-2
    detail = "coarse" if worst <= COARSE else "factor" if shared and len(wrong) > 1 else "other"
    return Fault(step, members, "reduced", detail, names, "", args)


def _gradients_of(states: States, rank: int, step: int) -> dict[str, Tensor]:
    there = states.ranks[rank].get(step)
    return there.gradients if there is not None else {}
