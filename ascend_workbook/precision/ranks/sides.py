"""Two sides of another number of ranks, each merged to one rank; and what the ranks of each say of one another."""

from __future__ import annotations

import copy
import math
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ascend_workbook.precision.capturing.manifest import Manifest
from ascend_workbook.precision.ranks.arranging import Axis
from ascend_workbook.precision.ranks.copies import check_copies
from ascend_workbook.precision.ranks.laws import Fault, check_ranks, find_coarse, find_one_sided
from ascend_workbook.precision.ranks.reading import Call, Record
from ascend_workbook.precision.ranks.runs import MergedRun, Merging, TensorStore
from ascend_workbook.precision.ranks.states import COPY, Merged, merge_states
from ascend_workbook.precision.ranks.whole import make_whole
from ascend_workbook.precision.record import FORWARD, Run
from ascend_workbook.precision.state.judge import BY_ITSELF, RANDOM, Judged
from ascend_workbook.precision.state.reading import States, Tensor

if TYPE_CHECKING:
    from ascend_workbook.precision.comparison import Side

#: Initial weights that are the same to within this are told as the same.
SAME_WEIGHT = 1e-6
WRAPPER = "_fsdp_wrapped_module."
#: Events of a step that copies which differ do not explain.
BESIDE = (RANDOM, *BY_ITSELF)
#: The small batches of a step have the same samples together, but not one by one.
REGROUPED = "regrouped"
STATES_OF_COPIES = ("weight", "gradient", "update", "optimizer state")


@dataclass(frozen=True)
class Ranks:
    """What is known of one side's ranks. `faults` are contradictions among them, `merged` how its steps became one;
    `runs` the merged steps, where operators were merged; `stages` says that its ranks run other
    modules."""

    count: int
    axes: tuple[Axis, ...] = ()
    faults: tuple[Fault, ...] = ()
    merged: Merged | None = None
    runs: tuple[MergedRun, ...] = ()
    stages: bool = False
    #: Some of its ranks did not dump.
    missing: bool = False
    errors: tuple[str, ...] = ()
    #: Reductions in a 16-bit format, of a model whose parameters are wider.
    coarse: tuple[Call, ...] = ()

    @property
    def how(self) -> Counter[str]:
        """How many tensors of operators were merged in which way."""
        return sum((run.how for run in self.runs), Counter())

    @property
    def left_out(self) -> Counter[str]:
        """How many were not, by reason."""
        return sum((run.left_out for run in self.runs), Counter())


@dataclass(frozen=True)
class Joined:
    """Both sides, merged where they have another number of ranks, and what is known of their ranks. `data` are steps
    whose samples differ, with what is to be said."""

    left: Side
    right: Side
    ranks: tuple[Ranks, Ranks]
    merged: bool = False
    data: tuple[tuple[int, str, Mapping[str, Any]], ...] = field(default=())
    #: Where merged tensors lie; gone with this.
    scratch: object = None

    def drop_consequences(self, judged: Judged, parted: float) -> Judged:
        """Return what a step differs in before copies on the ranks do, and, where steps were merged, not after the step
        in which an operator parts: from then on that is the cause."""
        copies = [[fault for fault in part.faults if fault.kind.startswith("copies_")] for part in self.ranks]
        if self.merged:
            last = min([parted, *(fault.step - 1 for own in copies for fault in own)])
            return replace(judged, events=tuple(event for event in judged.events if event.step <= last))
        copied = [{(fault.step, fault.kind, fault.names) for fault in own} for own in copies]
        steps = [step for step, _, _ in copied[0] ^ copied[1]]  # what both sides have parts them not
        first = min(steps, default=math.inf)
        events = judged.events
        others = (event for event in events if event.step < first or (event.step == first and event.kind in BESIDE))
        return replace(judged, events=tuple(others))


def join_sides(left: Side, right: Side, records: tuple[dict[int, Record], dict[int, Record]]) -> Joined:
    """Merge both sides where their numbers of ranks differ; check each one's ranks in any case."""
    sides = (left, right)
    counts = [_count_ranks(side) for side in sides]
    ranks = [
        Ranks(
            count,
            tuple(_find_axes(side, own, count)),
            tuple(find_faults(own, side.states, other.states if counts[0] == counts[1] else None)),
            stages=_are_stages(side.states),
            errors=tuple(record.error for record in own.values() if record.error),
            coarse=tuple(find_coarse(own, _dtype_of(side))),
        )
        for side, own, count, other in zip(sides, records, counts, reversed(sides))
    ]
    if counts[0] == counts[1] or 0 in counts:
        more = [find_one_sided(records[0], records[1]), find_one_sided(records[1], records[0])]
        ranks = [
            replace(part, faults=(*part.faults, *([fault] if fault is not None else [])))
            for part, fault in zip(ranks, more)
        ]
        return Joined(left, right, (ranks[0], ranks[1]))
    divided = tuple(any(axis.data for axis in part.axes) for part in ranks)
    merged = merge_states(left.states, right.states, (divided[0], divided[1]))
    ranks = [
        replace(part, merged=own, faults=_join_faults(part.faults, _find_faults(own)))
        for part, own in zip(ranks, merged)
    ]
    sides = (replace(left, states=merged[0].states), replace(right, states=merged[1].states))
    data: list[tuple[int, str, Mapping[str, Any]]] = []
    if left.about is not None and right.about is not None:
        staged = any(part.stages for part in ranks)
        abouts, data = _merge_manifests(left.about, right.about, merged, staged)
        sides = (replace(sides[0], about=abouts[0]), replace(sides[1], about=abouts[1]))
    regrouped = {step for step, key, _ in data if key == REGROUPED}
    if regrouped:  # an operator of one small batch has other rows there
        left_runs, right_runs = (
            {key: run for key, run in side.runs.items() if key[0] not in regrouped} for side in (left, right)
        )
        sides = (replace(sides[0], runs=left_runs), replace(sides[1], runs=right_runs))
    joined = _merge_operators(Joined(sides[0], sides[1], (ranks[0], ranks[1]), True, tuple(data)))
    how = joined.ranks[0].how + joined.ranks[1].how
    if (left.about is None or right.about is None) and not any(kind.strip("copy x") for kind in how):
        return Joined(left, right, (ranks[0], ranks[1]))  # nothing is divided: a rank is missing
    return joined


def _dtype_of(side: Side) -> str:
    """The one dtype of the weights that were recorded; empty where there are several or none."""
    steps = next(iter(side.states.ranks.values()), {})
    first = next(iter(steps.values()), None)
    dtypes = {tensor.dtype for update in (first.updates if first else ()) for tensor in update.weights.values()}
    return dtypes.pop() if len(dtypes) == 1 else ""


def find_faults(records: Mapping[int, Record], states: States, other: States | None = None) -> list[Fault]:
    """All that the ranks of one run contradict each other in, the earliest first. `other`: another run of as many
    ranks, which tells what is a copy."""
    faults = (*check_ranks(records, states), *check_copies(records, states, other))
    return sorted(faults, key=lambda fault: fault.step)


def _join_faults(own: tuple[Fault, ...], merged: list[Fault]) -> tuple[Fault, ...]:
    """Faults of a side with those that merging found, which know better what is a copy."""
    others = [fault for fault in own if not fault.kind.startswith("copies_") or not merged]
    return tuple(sorted((*others, *merged), key=lambda fault: fault.step))


def _count_ranks(side: Side) -> int:
    if side.about is not None:
        return int(side.about.about.get("nproc", 1))
    return len({rank for _, rank in side.runs})


# Axes of ranks


def _find_axes(side: Side, records: Mapping[int, Record], count: int) -> list[Axis]:
    """The axes that the ranks lie on: the groups that cover all ranks, else all ranks as one."""
    everyone = tuple(range(count))
    if count == 1:
        return []
    groups = {group for record in records.values() for group in record.groups if 1 < len(group) < count}
    partitions: list[tuple[tuple[int, ...], ...]] = []
    for size in sorted({len(group) for group in groups}):
        waiting = sorted(group for group in groups if len(group) == size)
        while waiting:
            chosen: list[tuple[int, ...]] = []
            for group in waiting:
                if not set(group) & {rank for other in chosen for rank in other}:
                    chosen.append(group)
            waiting = [group for group in waiting if group not in chosen]
            if sorted(rank for group in chosen for rank in group) == list(everyone):
                partitions.append(tuple(chosen))
    if len(partitions) == 1:
        across = tuple(zip(*partitions[0]))
        partitions.append(across)
    if len(partitions) != 2 or len(partitions[0][0]) * len(partitions[1][0]) != count:
        partitions = [(everyone,)]
    return [Axis(partition, _reads_other_data(side, partition[0])) for partition in partitions]


def _reads_other_data(side: Side, group: tuple[int, ...]) -> bool:
    """Whether ranks are given other batches: by their fingerprints, else by the first operator's inputs."""
    if side.about is not None and side.about.sides:
        batches = [side.about.sides.get(f"rank{rank}", {}).get("batches", {}) for rank in group]
        prints = [tuple(batch[min(batch, key=int)]) for batch in batches if batch]
        return len(set(prints)) > 1
    step = min((step for step, _ in side.runs), default=0)
    firsts = []
    for rank in group:
        run = side.runs.get((step, rank))
        forward = [op for op in run.operators if op.direction == FORWARD and op.inputs] if run else []
        if forward:
            record = forward[0].inputs[0]
            firsts.append((record.norm, record.maximum, record.minimum))
    return len(set(firsts)) > 1


# Faults of merging


def _find_faults(merged: Merged) -> list[Fault]:
    """Copies that differ: the earliest step and stage."""
    faults: list[Fault] = []
    entries = [entry for entry in merged.copies if entry[1] in STATES_OF_COPIES]
    if not entries:
        return []
    step, at = min((entry[0], STATES_OF_COPIES.index(entry[1])) for entry in entries)
    stage = STATES_OF_COPIES[at]
    first = [entry for entry in entries if entry[:2] == (step, stage)]
    if stage == "gradient":  # what is clipped by each rank's own norm differs too; what differs before is the cause
        first = [entry for entry in merged.copies if entry[:2] == (step, "before clip")] or first
    names = tuple(dict.fromkeys(entry[2] for entry in first))
    ranks = tuple(sorted({rank for entry in first for rank in entry[3]}))
    total = sum(way == COPY for way in merged.how.values())
    kind = "copies_" + stage.replace(" ", "_")
    faults.append(Fault(step, ranks, kind, "", names, "", {"count": len(names), "of": total}))
    return faults


# Manifests


def _merge_manifests(
    left: Manifest, right: Manifest, merged: tuple[Merged, Merged], staged: bool
) -> tuple[tuple[Manifest, Manifest], list[tuple[int, str, Mapping[str, Any]]]]:
    """Manifests of one rank each that say what can be said of whole tensors: initial weights, and the samples of all
    ranks."""
    sides = [copy.deepcopy(next(iter(about.sides.values()), {})) for about in (left, right)]
    weights = [_first_weights(own) for own in merged]
    names = [name for name in weights[0] if name in weights[1]]
    for number, side in enumerate(sides):
        own = side.setdefault("experiment", {})
        side["weights"] = {}
        own["weights"], own["sketches"] = {}, {}
        for name in names:
            tensor, other = weights[number][name], weights[0][name]
            apart = tensor.distance(other) / other.norm if other.norm else float(tensor.norm > 0)
            digest = "0" * 16 if number == 0 or apart <= SAME_WEIGHT else "1" * 16
            side["weights"][name] = f"{tensor.dtype}{list(tensor.shape)}:{digest}"
            own["weights"][name] = [_number(tensor.norm), *map(_number, tensor.sample[:8])]
            own["sketches"][name] = [_number(value) for value in tensor.sketch]
        for optimizer in own.get("optimizers", []):
            for group in optimizer.get("groups", []):
                group.pop("parameters", None)
        for loader in own.get("loaders", []):
            loader.pop("batch_size", None)
            loader.pop("sampler", None)
    _keep_common_modules(sides)
    data = _merge_batches(left, right, sides, staged)
    abouts = [replace(about, sides={"rank0": side}) for about, side in zip((left, right), sides)]
    return (abouts[0], abouts[1]), data


def _keep_common_modules(sides: list[dict[str, Any]]) -> None:
    """Keep the modules that are the same on both sides; a divided one has other sizes by nature, a wrapper other
    names."""
    modules = []
    for side in sides:
        own = side["experiment"].get("modules") or {}
        modules.append({name.replace(WRAPPER, "").removeprefix("module."): value for name, value in own.items()})
    common = {name: value for name, value in modules[0].items() if modules[1].get(name) == value}
    for side in sides:
        side["experiment"]["modules"] = common or {"": ["Module", ""]}


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _first_weights(merged: Merged) -> dict[str, Tensor]:
    steps = next(iter(merged.states.ranks.values()), {})
    first = steps.get(min(steps)) if steps else None
    return {name: tensor for update in (first.updates if first else ()) for name, tensor in update.weights.items()}


def _merge_batches(
    left: Manifest, right: Manifest, sides: list[dict[str, Any]], staged: bool = False
) -> list[tuple[int, str, Mapping[str, Any]]]:
    """Give both sides the same batches where the samples of all ranks are the same; tell of the others. `staged`: later
    stages of a pipeline are given what an earlier one made, not samples."""
    rows = [_rows_by_step(about) for about in (left, right)]
    differing: list[tuple[int, str, Mapping[str, Any]]] = []
    for side in sides:
        side["batches"] = {}
        side["experiment"]["batches"] = {}
    for step in sorted(rows[0].keys() & rows[1].keys(), key=int):
        mine, theirs = (Counter(row for rank in side[step].values() for row in rank) for side in rows)
        if staged and mine & theirs in (mine, theirs):
            mine = theirs
        if mine != theirs:
            counts = [_count_step(about, step) for about in (left, right)]
            if counts[0] == counts[1] and counts[0] != mine:
                differing.append((int(step), REGROUPED, {}))
                mine = theirs
        if not mine or not theirs:
            continue
        for side in sides:
            side["batches"][step] = ["samples:0"]
            side["experiment"]["batches"][step] = [{"samples": [], "numbers": [1.0]}]
        if mine != theirs:
            differing.append((int(step), *_describe_samples(rows[0][step], rows[1][step])))
    return differing


def _rows_by_step(about: Manifest) -> dict[str, dict[int, list[str]]]:
    """The samples that each rank was given, step by step; of ranks that were given the same, the first alone."""
    rows: dict[str, dict[int, list[str]]] = {}
    for name, side in about.sides.items():
        for step, batch in (side.get("experiment", {}).get("batches") or {}).items():
            samples: list[str] = next((tensor["samples"] for tensor in batch if tensor["samples"]), [])
            if samples and samples not in rows.setdefault(step, {}).values():
                rows[step][int(name[4:])] = list(samples)
            elif samples:
                rows[step].setdefault(-1 - int(name[4:]), [])
    return rows


def _count_step(about: Manifest, step: str) -> Counter[str]:
    """The samples of all small batches of a step; of ranks that were given the same, once."""
    batches = set()
    for side in about.sides.values():
        own = side.get("experiment", {})
        tensors = own.get("batches", {}).get(step, [])
        first: list[str] = next((tensor["samples"] for tensor in tensors if tensor["samples"]), [])
        batches.add((*first, *own.get("further_samples", {}).get(step, [])))
    return Counter(row for rows in batches for row in rows)


def _describe_samples(left: Mapping[int, list[str]], right: Mapping[int, list[str]]) -> tuple[str, Mapping[str, Any]]:
    counts = [Counter(row for rank in side.values() for row in rank) for side in (left, right)]
    shared = sum((counts[0] & counts[1]).values())
    args: dict[str, Any] = {"shared": shared, "left": sum(counts[0].values()), "right": sum(counts[1].values())}
    for side, own in (("baseline", left), ("target", right)):
        copies = [-1 - rank for rank in own if rank < 0]
        if copies and counts[0] != counts[1] and sum(counts[0].values()) != sum(counts[1].values()):
            return "repeated", {**args, "ranks": copies, "side": side}
    return "other", args


# Operators


def _merge_operators(joined: Joined) -> Joined:
    """Merge the operators' tensors, the side of several ranks against that of one."""
    sides, ranks = [joined.left, joined.right], list(joined.ranks)
    many = 0 if ranks[0].count > ranks[1].count else 1
    few = 1 - many
    if any(part.stages for part in ranks):
        sides = [replace(side, runs={}) for side in sides]
        return replace(joined, left=sides[0], right=sides[1], ranks=(ranks[0], ranks[1]))
    scratch = tempfile.TemporaryDirectory(prefix="merged-")  # lives as long as the comparison
    store = TensorStore(Path(scratch.name))
    divided = ranks[many].merged
    merging = Merging(ranks[many].axes, store, divided.divided if divided else frozenset())
    runs: list[dict[tuple[int, int], Run]] = [{}, {}]
    merged_runs: list[MergedRun] = []
    for step in sorted({step for step, _ in sides[0].runs} & {step for step, _ in sides[1].runs}):
        own = {rank: run for (at, rank), run in sides[many].runs.items() if at == step}
        others = {rank: run for (at, rank), run in sides[few].runs.items() if at == step}
        lacking = [at for at, runs_there in ((many, own), (few, others)) if len(runs_there) < ranks[at].count]
        if lacking:
            ranks[lacking[0]] = replace(ranks[lacking[0]], missing=True)
            continue
        reference = make_whole(others, ranks[few].axes, store) if ranks[few].count > 1 else others[min(others)]
        merged = merging.merge_runs(own, reference)
        merged_runs.append(merged)
        runs[many][step, 0], runs[few][step, 0] = merged.run, merged.reference
    sides = [replace(side, runs=own_runs) for side, own_runs in zip(sides, runs)]
    ranks[many] = replace(ranks[many], runs=tuple(merged_runs))
    return replace(joined, left=sides[0], right=sides[1], ranks=(ranks[0], ranks[1]), scratch=scratch)


def _are_stages(states: States) -> bool:
    """Whether the ranks hold other parameters, updated by their own optimizer or not: stages of a pipeline."""
    names: list[set[str]] = []
    for steps in states.ranks.values():
        first = next(iter(steps.values()), None)
        if first is not None:
            own = {name for update in first.updates for name in update.group_of}
            names.append(own | first.other_weights.keys())
    return len(names) > 1 and any(not (names[0] & other) for other in names[1:])
