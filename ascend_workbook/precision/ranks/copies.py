"""Copies that every rank of a run must hold alike, step by step: weights, gradients, buffers.

What is a copy tells DistributedDataParallel, or an all_reduce of gradients (then what begins alike on its ranks too),
or another run of as many ranks, on which it is alike. Of a run that tells none of it nothing is known: what begins
alike may be a shard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from ascend_workbook.precision.ranks.laws import Fault
from ascend_workbook.precision.ranks.reading import Record
from ascend_workbook.precision.state.reading import States, Step, Tensor, Tensors

GRAD = ".grad"
#: Ranks have a tensor alike where it differs by no more than this share of its size.
ALIKE = 1e-6
#: What is alike on another run differs here where it does by so much, and by so many times what it does there.
APART, TIMES = 1e-4, 100.0
KINDS = ("weight", "gradient", "buffer")


def check_copies(records: Mapping[int, Record], states: States, other: States | None = None) -> Iterator[Fault]:
    """The first step in which copies differ: weights before gradients before buffers. `other`: the states of another
    run of as many ranks."""
    members = _find_group(records)
    if any(rank not in states.ranks for rank in members):
        members = ()
    beside = other if other is not None and other.ranks.keys() == states.ranks.keys() else None
    ranks = members or (tuple(sorted(states.ranks)) if beside is not None else ())
    common = sorted(set.intersection(*(set(states.ranks[rank]) for rank in ranks))) if len(ranks) > 1 else []
    if not common:
        return
    known = (
        set(_find_copies(records, [states.ranks[rank][common[0]] for rank in members], members)) if members else set()
    )
    for step in common:
        steps = {rank: states.ranks[rank][step] for rank in states.ranks if step in states.ranks[rank]}
        there = {rank: own[step] for rank, own in beside.ranks.items() if step in own} if beside is not None else {}
        for kind in KINDS:
            tensors = {rank: _read_stage(own, kind) for rank, own in steps.items()}
            names = known if kind != "buffer" else set()
            worst = _find_unlike({rank: tensors[rank] for rank in members if rank in tensors}, names)
            total = len(names & tensors[min(tensors)].keys())
            if not worst and len(there) == len(steps) == len(states.ranks):
                alike = _find_alike([_read_stage(own, kind) for _, own in sorted(there.items())])
                total = len(alike.keys() & tensors[min(tensors)].keys())
                worst = _find_parted(tensors, alike)
            if worst:
                apart = tuple(sorted({rank for own in worst.values() for rank in own}))
                place = next((update.place for update in steps[min(steps)].updates), "") if kind == "gradient" else ""
                yield Fault(step, apart, f"copies_{kind}", "", tuple(worst), place, {"count": len(worst), "of": total})
                return


def _find_unlike(tensors: Mapping[int, Tensors], names: Iterable[str]) -> dict[str, list[int]]:
    """The ranks that hold each of these otherwise than the first, to the last bit of the sketch."""
    if not tensors:
        return {}
    first = tensors[min(tensors)]
    differ = {
        name: [rank for rank, own in tensors.items() if name in own and _differ(first[name], own[name])]
        for name in first
        if name in names
    }
    return {name: ranks for name, ranks in differ.items() if ranks}


def _find_alike(ranks: list[Tensors]) -> dict[str, float]:
    """What is alike on all ranks of the other run, and by how much it differs there."""
    spreads: dict[str, float] = {}
    for name in set.intersection(*(set(tensors) for tensors in ranks)):
        errors = _measure_spread([tensors[name] for tensors in ranks])
        if errors and max(errors) <= ALIKE:
            spreads[name] = max(errors)
    return spreads


def _find_parted(tensors: Mapping[int, Tensors], alike: Mapping[str, float]) -> dict[str, list[int]]:
    """The ranks that hold otherwise than the first what is alike on the other run."""
    parted: dict[str, list[int]] = {}
    order = sorted(tensors)
    for name in tensors[order[0]]:
        if name in alike and all(name in tensors[rank] for rank in order):
            errors = _measure_spread([tensors[rank][name] for rank in order])
            limit = max(APART, TIMES * alike[name])
            ranks = [rank for rank, error in zip(order[1:], errors) if error > limit]
            if ranks:
                parted[name] = ranks
    return parted


def _measure_spread(ranks: list[Tensor]) -> list[float]:
    """By how much each further rank's tensor differs from the first's; empty where that is not known."""
    first, *others = ranks
    size = max(tensor.norm for tensor in ranks)
    floats = all(tensor.dtype.startswith(("float", "bfloat")) for tensor in ranks)
    if not floats or not np.isfinite(size) or any(other.shape != first.shape for other in others):
        return []
    return [first.distance(other) / size if size else 0.0 for other in others]


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
    """Weights as the step begins, those that no optimizer of this rank holds among them; gradients before they are
    clipped, else as they are read; buffers as the step leaves them."""
    if kind == "buffer":
        return step.buffers
    if kind == "gradient" and step.clips:
        return step.clips[0].before
    stages = [update.weights if kind == "weight" else update.gradients for update in step.updates]
    if kind == "weight":
        stages = [step.other_weights, *reversed(stages)]
    return {name: tensor for stage in stages for name, tensor in stage.items()}


def _differ(left: Tensor, right: Tensor) -> bool:
    return left.shape == right.shape and (left.sketch.tobytes() != right.sketch.tobytes())
