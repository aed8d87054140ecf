"""Copies of one run's own ranks: parameters that every rank must hold alike, step by step.

Which parameters are copies tells DistributedDataParallel, or an all_reduce of gradients: then those that it works on,
and those that begin alike on all its ranks. Of other runs nothing is known here: what begins alike may be a shard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ascend_workbook.precision.ranks.laws import Fault
from ascend_workbook.precision.ranks.reading import Record
from ascend_workbook.precision.state.reading import States, Step, Tensor, Tensors

GRAD = ".grad"


def check_copies(records: Mapping[int, Record], states: States) -> Iterator[Fault]:
    """The first step in which copies differ: weights before gradients."""
    members = _find_group(records)
    if not members or any(rank not in states.ranks for rank in members):
        return
    common = sorted(set.intersection(*(set(states.ranks[rank]) for rank in members)))
    if not common:
        return
    names = _find_copies(records, [states.ranks[rank][common[0]] for rank in members], members)
    for step in common:
        steps = {rank: states.ranks[rank][step] for rank in members}
        for kind in ("weight", "gradient"):
            tensors = {rank: _read_stage(own, kind) for rank, own in steps.items()}
            first = tensors[members[0]]
            differ = {
                name: [rank for rank in members if name in tensors[rank] and _differ(first[name], tensors[rank][name])]
                for name in names
                if name in first
            }
            worst = {name: ranks for name, ranks in differ.items() if ranks}
            if worst:
                ranks = tuple(sorted({rank for own in worst.values() for rank in own}))
                yield Fault(
                    step, ranks, f"copies_{kind}", "", tuple(worst), "", {"count": len(worst), "of": len(names)}
                )
                return


def _find_group(records: Mapping[int, Record]) -> tuple[int, ...]:
    """The ranks that hold copies: of a wrapper, or of an all_reduce of gradients."""
    for record in records.values():
        if record.copied:
            return record.copied[0]
        for call in record.calls:
            if call.operation == "all_reduce" and any(name.endswith(GRAD) for name in call.names):
                return call.group
    return ()


def _find_copies(records: Mapping[int, Record], firsts: list[Step], members: tuple[int, ...]) -> list[str]:
    weights = [_read_stage(step, "weight") for step in firsts]
    if any(record.copied for record in records.values()):
        return list(weights[0])
    reduced = {
        name[: -len(GRAD)]
        for rank in members
        for call in records[rank].calls
        if call.operation == "all_reduce"
        for name in call.names
        if name.endswith(GRAD)
    }
    mostly = 2 * len(reduced) >= len(weights[0])  # then what begins alike is a copy even where it begins with zeros
    alike = {
        name
        for name, tensor in weights[0].items()
        if (mostly or len(set(tensor.sample)) > 1)
        and all(name in other and not _differ(tensor, other[name]) for other in weights[1:])
    }
    return [name for name in weights[0] if name in reduced | alike]


def _read_stage(step: Step, kind: str) -> Tensors:
    """Weights as the step begins; gradients before they are clipped, else as they are read."""
    if kind == "gradient" and step.clips:
        return step.clips[0].before
    stages = (update.weights if kind == "weight" else update.gradients for update in step.updates)
    return {name: tensor for stage in stages for name, tensor in stage.items()}


def _differ(left: Tensor, right: Tensor) -> bool:
    return left.shape == right.shape and (left.sketch.tobytes() != right.sketch.tobytes())
