"""What the steps of several ranks kept and changed, merged to whole tensors: as if one process had recorded them.

A copy stands on every rank; of a shard the sketches, each taken at its place, are added up. Which of the two a tensor
is tells its own record, or the whole shape that the other side has."""

from __future__ import annotations

import base64
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ascend_workbook.precision.state.reading import SKETCH, States, Step

COPY, WHOLE = "copy", "whole"
#: Gradients that may still be each rank's own.
AFTER = "after backward"
Packed = list[Any]
#: A tensor's packs by rank.
Packs = Mapping[int, Packed]


@dataclass
class Merged:
    """One side's merged steps, how each parameter was merged, and what could not be. `copies` are the tensors whose
    copies differ: (step, stage, name, ranks that differ from the first)."""

    states: States
    how: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    unmerged: dict[str, str] = field(default_factory=dict)
    copies: list[tuple[int, str, str, tuple[int, ...]]] = field(default_factory=list)
    #: Lists of modules that are divided among the ranks: the paths of the modules that hold them.
    divided: frozenset[str] = frozenset()
    holders: dict[str, list[tuple[int, list[int], list[int]]]] = field(default_factory=dict)


def merge_states(left: States, right: States, divided: tuple[bool, bool]) -> tuple[Merged, Merged]:
    """Merge both sides. `divided` says of each whether its ranks read different data: then gradients that differ before
    they are reduced are averaged, else added."""
    lists = [_find_divided(left, right), _find_divided(right, left)]
    left, right = _renumber(left, lists[0]), _renumber(right, lists[1])
    options = [_list_options(side) for side in (left, right)]
    plans: list[dict[str, str]] = [{}, {}]
    for name in options[0].keys() & options[1].keys():
        chosen = _choose(options[0][name], options[1][name])
        if chosen is not None:
            plans[0][name], plans[1][name] = chosen
    merged = [
        _merge_side(side, plan, opts, mean) for side, plan, opts, mean in zip((left, right), plans, options, divided)
    ]
    for own, prefixes in zip(merged, lists):
        own.divided = frozenset(prefix.rpartition(".")[0] for prefix in prefixes)
    return merged[0], merged[1]


def _find_divided(states: States, other: States) -> dict[str, int]:
    """Find the lists of modules (experts) that are divided among the ranks, and how many each rank has: every rank as
    many, and the other side as many as all ranks together."""
    if len(states.ranks) == 1 or not other.ranks:
        return {}
    whole = _count_members(next(iter(other.ranks.values())))
    members = [_count_members(steps) for steps in states.ranks.values()]
    return {
        prefix: count
        for prefix, count in (members[0] if members else {}).items()
        if all(own.get(prefix) == count for own in members) and whole.get(prefix) == count * len(members)
    }


def _renumber(states: States, divided: Mapping[str, int]) -> States:
    """Give the modules of divided lists the numbers that they have in the whole, in the order of the ranks."""
    if not divided:
        return states
    ranks = {
        rank: {number: Step(_rename(step.raw, divided, at)) for number, step in steps.items()}
        for at, (rank, steps) in enumerate(sorted(states.ranks.items()))
    }
    return States(ranks, states.troubles)


def _count_members(steps: Mapping[int, Step]) -> dict[str, int]:
    """How many numbered modules stand below each path: `blocks.0.experts` has 4."""
    numbers: dict[str, set[int]] = defaultdict(set)
    first = next(iter(steps.values()), None)
    for update in first.raw["updates"] if first is not None else ():
        for group in update["groups"]:
            for name in group["names"]:
                pieces = name.split(".")
                for at, piece in enumerate(pieces):
                    if piece.isdigit() and at:
                        numbers[".".join(pieces[:at])].add(int(piece))
    return {prefix: len(own) for prefix, own in numbers.items() if own == set(range(len(own)))}


def _rename(value: Any, divided: Mapping[str, int], rank: int) -> Any:
    """A record with the names of parameters changed."""
    if isinstance(value, dict):
        return {_number_name(key, divided, rank): _rename(item, divided, rank) for key, item in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], (dict, list)) and not isinstance(value[0], str):
        return [_rename(item, divided, rank) for item in value]
    if isinstance(value, list):
        return [_number_name(item, divided, rank) if isinstance(item, str) else item for item in value]
    return value


def _number_name(name: str, divided: Mapping[str, int], rank: int) -> str:
    pieces = name.split(".")
    for at, piece in enumerate(pieces):
        prefix = ".".join(pieces[:at])
        if piece.isdigit() and prefix in divided:
            pieces[at] = str(int(piece) + rank * divided[prefix])
    return ".".join(pieces)


@dataclass(frozen=True)
class Option:
    """One way to see a parameter: its whole shape; `sure` where it needs no other side to be believed."""

    shape: tuple[int, ...]
    sure: bool


def _list_options(states: States) -> dict[str, dict[str, Option]]:
    """Of every parameter the ways to see it, the likeliest first."""
    packs: dict[str, dict[int, Packed]] = defaultdict(dict)
    for rank, steps in states.ranks.items():
        for step in steps.values():
            for update in step.raw["updates"]:
                for name, pack in update["weight"].items():
                    for whole_name, part in _split_flat(name, pack):
                        packs[whole_name].setdefault(rank, part)
            break
    listed: dict[str, dict[str, Option]] = {}
    for name, by_rank in packs.items():
        parts = {rank: {part[0]: tuple(part[1]) for part in _parts_of(pack)} for rank, pack in by_rank.items()}
        first = next(iter(by_rank.values()))
        shape = tuple(first[1])
        ways: dict[str, Option] = {}
        if all(WHOLE in part for part in parts.values()):
            listed[name] = {WHOLE: Option(next(iter(parts.values()))[WHOLE], True)}
            continue
        same = len({pack[4] for pack in by_rank.values()}) == 1
        if all(tuple(pack[1]) == shape for pack in by_rank.values()):
            ways[COPY] = Option(shape, same)
        for key in next(iter(parts.values())):
            shapes = {part.get(key) for part in parts.values()}
            if len(shapes) == 1 and None not in shapes:
                ways[key] = Option(next(iter(parts.values()))[key], False)
        listed[name] = ways
    return listed


def _choose(left: Mapping[str, Option], right: Mapping[str, Option]) -> tuple[str, str] | None:
    """The pair of ways that give one whole shape: copies before shards, whole parts before fused ones."""
    pairs = [
        (mine, theirs) for mine, way in left.items() for theirs, other in right.items() if way.shape == other.shape
    ]

    def rate(pair: tuple[str, str]) -> tuple[int, int]:
        unsure = [not way.sure for way in (left[pair[0]], right[pair[1]])]
        doubt = all(unsure) if COPY in pair else 0
        return int(doubt) + (0 if COPY in pair or WHOLE in pair else 1), sum(key[-1] in "23" for key in pair)

    return min(pairs, key=rate, default=None)


def _parts_of(pack: Packed) -> list[Any]:
    return list(pack[5]) if len(pack) > 5 else []


def _split_flat(name: str, pack: Packed) -> list[tuple[str, Packed]]:
    """A flat parameter as the parameters that it holds; any other as it is."""
    parts = _parts_of(pack)
    if not parts or parts[0][0] == WHOLE or parts[0][0][0].isdigit() and parts[0][0].count(".") == 2:
        return [(name, pack)]
    return [(part[0], [pack[0], pack[1], *part[3:6], [[WHOLE, *part[1:]]]]) for part in parts]


def _merge_side(states: States, plan: Mapping[str, str], options: Mapping[str, Any], mean: bool) -> Merged:
    merged = Merged(States({}, states.troubles))
    for name in options:
        if name in plan:
            merged.how[name] = plan[name]
            merged.shapes[name] = options[name][plan[name]].shape
        else:
            merged.unmerged[name] = "shape"
    if len(states.ranks) == 1:
        merged.states = states
        return merged
    merger = _Merger(merged, plan, mean)
    common = set.intersection(*(set(steps) for steps in states.ranks.values())) if states.ranks else set()
    steps = {
        number: Step(merger.merge_step(number, {rank: steps[number].raw for rank, steps in states.ranks.items()}))
        for number in sorted(common)
    }
    merged.states = States({0: steps}, states.troubles)
    return merged


class _Merger:
    def __init__(self, merged: Merged, plan: Mapping[str, str], mean: bool) -> None:
        self.merged, self.plan, self.mean = merged, plan, mean
        self.number = 0

    def merge_step(self, number: int, raws: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        """One step of all ranks as one."""
        self.number = number
        first = next(iter(raws.values()))
        step = {**first, "random": {}}
        for key in ("unscales", "clips", "updates", "gradients"):
            step[key] = [
                self._merge_entry(key, {rank: raw[key][at] for rank, raw in raws.items() if at < len(raw[key])})
                for at in range(max(len(raw[key]) for raw in raws.values()))
            ]
        for key in ("buffer", "buffer_before", "copy", "last"):
            if key in first:
                step[key] = self._merge_buffers({rank: raw.get(key) or {} for rank, raw in raws.items()})
        return step

    def _merge_entry(self, kind: str, entries: Mapping[int, Any]) -> Any:
        if kind == "gradients":
            return self._merge_packs(entries, AFTER)
        first = next(iter(entries.values()))
        entry = dict(first)
        tensors = {"unscales": ("gradient",), "clips": ("before", "gradient")}.get(kind, ("gradient", "weight"))
        for key in tensors:
            stage = {"unscales": AFTER, "clips": f"{key} clip"}.get(kind, key)
            entry[key] = self._merge_packs({rank: part[key] for rank, part in entries.items()}, stage)
        if kind == "updates":
            if "update" in first:
                entry["update"] = self._merge_packs({rank: part["update"] for rank, part in entries.items()}, "update")
            for key in ("before", "state"):
                if key in first:
                    slots = self._merge_slots({rank: part[key] for rank, part in entries.items()})
                    entry[key] = {name: slots.get(name, {}) for name in entry["weight"]}
            entry["groups"] = _join_groups([part["groups"] for part in entries.values()], entry["weight"])
        return entry

    def _merge_slots(self, states: Mapping[int, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """The optimizer's state of every parameter, slot by slot."""
        slots: dict[str, dict[int, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
        numbers: dict[str, dict[str, Any]] = defaultdict(dict)
        for rank, by_name in states.items():
            for name, values in by_name.items():
                for slot, value in values.items():
                    if isinstance(value, list) and len(value) >= 5:
                        slots[slot][rank][name] = value
                    else:
                        numbers[name].setdefault(slot, value)
        merged: dict[str, dict[str, Any]] = {name: dict(values) for name, values in numbers.items()}
        for slot, by_rank in slots.items():
            for name, pack in self._merge_packs(by_rank, "optimizer state").items():
                merged.setdefault(name, {})[slot] = pack
        return merged

    def _merge_buffers(self, dicts: Mapping[int, Mapping[str, Packed]]) -> dict[str, Packed]:
        """Buffers that are the same on every rank; the others are each rank's own."""
        first = next(iter(dicts.values()))
        same = {}
        for name, pack in first.items():
            if all(other.get(name, [None] * 5)[4] == pack[4] for other in dicts.values()):
                same[name] = pack[:5]
            else:
                self.merged.unmerged.setdefault(name, "own")
        return same

    def _merge_packs(self, dicts: Mapping[int, Mapping[str, Packed]], stage: str) -> dict[str, Packed]:
        by_name: dict[str, dict[int, Packed]] = defaultdict(dict)
        for rank, packs in dicts.items():
            for name, pack in packs.items():
                for whole_name, part in _split_flat(name, pack):
                    by_name[whole_name][rank] = part
        merged = {}
        for name, of_ranks in by_name.items():
            whole = self._merge_tensor(name, of_ranks, stage) if name in self.plan else None
            if whole is not None:
                merged[name] = whole
        return merged

    def _merge_tensor(self, name: str, packs: Packs, stage: str) -> Packed | None:
        way = self.plan[name]
        if way == COPY:
            return self._merge_copies(name, packs, stage)
        placed: dict[tuple[int, ...], tuple[Packed, Packed]] = {}
        others: dict[tuple[int, ...], list[Packed]] = defaultdict(list)
        for rank, pack in packs.items():
            part = next((part for part in _parts_of(pack) if part[0] == way), None)
            if part is None:
                self.merged.unmerged[name] = "part"
                return None
            at = tuple(part[2])
            if at not in placed:
                placed[at] = pack, part
                if stage == "weight":
                    self.merged.holders.setdefault(name, []).append((rank, list(part[6]), list(at)))
            elif placed[at][1][5] != part[5] or others[at]:
                others[at].append(part)
                if stage != AFTER:
                    self._note_copy(stage, name, (rank,))
        parts = [part for _, part in placed.values()]
        if stage == AFTER:  # each rank's own, which is reduced later
            parts = [self._reduce_parts([pack[1], *others[at]]) for at, pack in placed.items()]
        numbers = [_unpack(part[5]) for part in parts]
        sketch = np.sum([number[:SKETCH] for number in numbers], axis=0)
        samples = np.stack([number[SKETCH:] for number in numbers])
        with np.errstate(all="ignore"):
            sample = np.where(np.isnan(samples).all(0), np.nan, np.nansum(samples, axis=0))
        return _pack(next(iter(packs.values()))[0], parts[0][1], parts, sketch, np.nan_to_num(sample))

    def _reduce_parts(self, parts: list[Packed]) -> Packed:
        """One part of which several ranks hold their own: their mean, or their sum."""
        if len(parts) == 1:
            return parts[0]
        numbers = np.stack([_unpack(part[5]) for part in parts])
        total = numbers.mean(0) if self.mean else numbers.sum(0)
        norm = float(np.linalg.norm(total[:SKETCH]))
        largest = float(np.nanmax(np.abs(total[SKETCH:]), initial=0.0))
        return [*parts[0][:3], norm if math.isfinite(norm) else None, largest, _encode(total), *parts[0][6:]]

    def _merge_copies(self, name: str, packs: Packs, stage: str) -> Packed | None:
        first = next(iter(packs.values()))
        differ = tuple(rank for rank, pack in packs.items() if pack[4] != first[4])
        if not differ:
            return first[:5]
        if stage != AFTER:
            self._note_copy(stage, name, differ)
            return first[:5] if stage == "weight" else None
        numbers = np.stack([_unpack(pack[4]) for pack in packs.values()])
        total = numbers.mean(0) if self.mean else numbers.sum(0)
        norm = float(np.linalg.norm(total[:SKETCH]))
        return [first[0], first[1], norm if math.isfinite(norm) else None, float(np.abs(total).max()), _encode(total)]

    def _note_copy(self, stage: str, name: str, ranks: tuple[int, ...]) -> None:
        self.merged.copies.append((self.number, stage, name, ranks))


def _join_groups(groups: list[list[dict[str, Any]]], weights: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parameter groups with the names of all ranks' parameters."""
    joined = [dict(group) for group in groups[0]]
    for number, group in enumerate(joined):
        names = [name for own in groups if number < len(own) for name in own[number]["names"]]
        known = [name for name in dict.fromkeys(names) if name in weights]
        group["names"] = known or sorted(weights) if len(joined) == 1 else known
    return joined


def _pack(dtype: str, shape: list[int], parts: list[Any], sketch: Any, sample: Any) -> Packed:
    norms = [part[3] for part in parts]
    norm = None if None in norms else math.sqrt(sum(float(value) ** 2 for value in norms))
    largest = max(float(part[4]) for part in parts)
    return [dtype, list(shape), norm, largest, _encode(np.concatenate([sketch, sample]))]


def _unpack(text: str) -> Any:
    return np.frombuffer(base64.b64decode(text), "<f4").astype(np.float64)


def _encode(numbers: Any) -> str:
    return base64.b64encode(np.asarray(numbers).astype("<f4").tobytes()).decode("ascii")
