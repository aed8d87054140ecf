"""Rides in the training process of several ranks: which part of a whole tensor a rank holds. Loaded by path.

A shard's sketch is taken at its place in the whole tensor (sketch.py), so that the sketches of all ranks add up to the
whole tensor's, whatever the number of ranks. A DTensor and FSDP's flat parameters tell their place; of any other tensor
each dimension that a process group may have divided is told as a possibility, and the comparison takes the one whose
whole shape the other side has."""

from __future__ import annotations

import base64
import functools
import math
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from ascend_workbook.machine.launch.child.observer import Observer

#: Fused weights hold several parts in one dimension (query, key and value; gate and up), each divided by itself.
FUSED = (2, 3)
#: Dimensions of a tensor that may be divided; groups of a rank that may divide it.
MOST_DIMENSIONS, MOST_GROUPS = 4, 3
#: Elements of a local tensor from which on the values were thinned out before they came here.
MOST = 1 << 20


class Shards:
    """Tells of each tensor which part it is; `parallel` tells of the process groups."""

    def __init__(self, observer: Observer, sketching: ModuleType) -> None:
        self.observer, self.sketching = observer, sketching

    def describe_parts(self, value: torch.Tensor, values: Any) -> list[list[Any]]:
        """List [name, whole shape, place, norm, largest, base64, own shape] of all that this may be a part of.

        That is the one whole tensor (named "whole"), a flat parameter's parameters by their names, or possibilities
        (named by group and dimension). Empty where it is no part, or too large to tell."""
        if self.observer.world_size == 1:
            return []
        places = _place_of_dtensor(value)
        if places is not None:
            return [self._pack("whole", *places[:2], values, places[2])] if len(values) < MOST else []
        flat = _find_flat(value, self.observer.models)
        if flat is not None:
            return [
                self._pack(name, shape, [start], values[at : at + count], (count,))
                for name, shape, start, at, count in flat
                if count
            ]
        if not value.dim() or value.numel() != len(values) or value.numel() >= MOST:
            return []
        return [self._pack(*place, values, tuple(value.shape)) for place in self._guess_places(list(value.shape))]

    def _guess_places(self, shape: list[int]) -> Iterator[tuple[str, list[int], list[int]]]:
        for number, (place, size) in enumerate(dividing_groups(self.observer.models)):
            for dim in range(min(len(shape), MOST_DIMENSIONS)):
                whole, at = list(shape), [0] * len(shape)
                whole[dim], at[dim] = shape[dim] * size, shape[dim] * place
                yield f"{number}.{dim}.1", whole, at
            for pieces in FUSED:
                if shape[0] % pieces == 0:
                    at = [pieces, place, size]
                    yield f"{number}.0.{pieces}", [shape[0] * size, *shape[1:]], at

    def _pack(self, name: str, whole: list[int], at: list[int], values: Any, local: tuple[int, ...]) -> list[Any]:
        finite = bool(np.isfinite(values).all())
        fused = name.count(".") == 2 and name[-1] != "1" and name[0].isdigit()
        total = math.prod(whole)
        if len(at) == 1 and len(whole) != 1:  # a run of the flattened tensor
            numbers = np.arange(at[0], at[0] + len(values))
        elif fused:
            pieces, place, size = at
            rows = len(values) // math.prod(whole[1:])
            numbers = _number_fused(tuple(whole), rows, pieces, place, size)
        else:
            numbers = _number_block(tuple(whole), tuple(at), local)
        packed = pack_at(self.sketching, values, numbers, total)
        norm = math.sqrt(float(np.square(values).sum())) if finite else None
        largest = float(np.abs(values).max()) if finite and len(values) else 0.0
        return [name, whole, at, norm, largest, packed, list(local)]


def pack_at(sketching: ModuleType, values: Any, numbers: Any, total: int) -> str:
    """The sketch and sample of a whole tensor of `total` elements, of which `values` stand at `numbers`; samples
    elsewhere are NaN. In base64 of float32."""
    stride = sketching.stride_of(total)
    if stride > 1:
        read = numbers % stride == 0
        values, numbers = values[read], numbers[read] // stride
    with np.errstate(all="ignore"):
        sketch = np.bincount(numbers % sketching.SIZE, values * sketching.signs()[numbers], sketching.SIZE)
    count = -(-total // stride)
    step = max(1, count // sketching.SIZE)
    sample = np.full(min(sketching.SIZE, -(-count // step)), np.nan)
    chosen = (numbers % step == 0) & (numbers // step < len(sample))
    sample[numbers[chosen] // step] = values[chosen]
    return base64.b64encode(np.concatenate([sketch, sample]).astype("<f4").tobytes()).decode("ascii")


@functools.lru_cache(maxsize=256)
def _number_block(whole: tuple[int, ...], at: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """The numbers, in the flattened whole, of the elements of a block."""
    strides = [math.prod(whole[dim + 1 :]) for dim in range(len(whole))]
    numbers = np.zeros(shape, dtype=np.int64)
    for dim, (start, size) in enumerate(zip(at, shape)):
        along = (np.arange(size, dtype=np.int64) + start) * strides[dim]
        numbers = numbers + along.reshape([-1 if number == dim else 1 for number in range(len(shape))])
    return numbers.reshape(-1)


@functools.lru_cache(maxsize=256)
def _number_fused(whole: tuple[int, ...], rows: int, pieces: int, place: int, size: int) -> Any:
    """As `_number_block` of rows that are `pieces` equal parts, each divided among `size` ranks."""
    own = rows // pieces
    which = np.arange(rows, dtype=np.int64)
    at = (which // own) * own * size + place * own + which % own
    rest = math.prod(whole[1:])
    return (at[:, None] * rest + np.arange(rest, dtype=np.int64)[None, :]).reshape(-1)


def dividing_groups(models: list[torch.nn.Module]) -> list[tuple[int, int]]:
    """This rank's place in each group that may divide tensors, and the group's size. Groups over which
    DistributedDataParallel copies are none."""
    if not (dist.is_available() and dist.is_initialized()):
        return []
    ranks = dist.get_rank()
    copied = {tuple(_ranks_of(model.process_group)) for model in models if _is_ddp(model)}
    groups = [members for members in list_groups() if ranks in members and len(members) > 1]
    smaller = [members for members in groups if len(members) < dist.get_world_size()]
    chosen = smaller or groups
    places = [(members.index(ranks), len(members)) for members in chosen if tuple(members) not in copied]
    return list(dict.fromkeys(places))[:MOST_GROUPS]


def list_groups() -> list[list[int]]:
    """The members of every process group that this rank knows, each once, in the order of creation."""
    known = getattr(getattr(dist.distributed_c10d, "_world", None), "pg_group_ranks", {})
    listed = [sorted(members, key=lambda rank: members[rank]) for members in known.values()]
    return [list(members) for members in dict.fromkeys(tuple(members) for members in listed)]


def _ranks_of(group: Any) -> list[int]:
    return list(dist.get_process_group_ranks(group))


def _is_ddp(model: torch.nn.Module) -> bool:
    return isinstance(model, torch.nn.parallel.DistributedDataParallel)


def _place_of_dtensor(value: Any) -> tuple[list[int], list[int], tuple[int, ...]] | None:
    """The whole shape of a DTensor, where this rank's part begins and its shape; None of any other tensor."""
    if not hasattr(value, "to_local") or not hasattr(value, "placements"):
        return None
    from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

    local, at = compute_local_shape_and_global_offset(value.shape, value.device_mesh, value.placements)
    return list(value.shape), list(at), tuple(local)


def _find_flat(value: torch.Tensor, models: list[torch.nn.Module]) -> list[tuple[str, list[int], int, int, int]] | None:
    """Of a flat parameter of FSDP, or what belongs to it: (name, whole shape, its first element here, place in the
    local values, how many) of each parameter inside. None of any other tensor."""
    for prefix, handle in _flat_handles(models):
        flat = handle.flat_param
        local = getattr(flat, "_local_shard", flat)
        if value.dim() == 1 and value.numel() == local.numel():
            start = local.numel() * dist.get_rank(getattr(handle, "process_group", None))
            return list(_cut_flat(prefix, flat, start, local.numel()))
    return None


def _flat_handles(models: list[torch.nn.Module]) -> Iterator[tuple[str, Any]]:
    for model in models:
        for path, module in model.named_modules():
            handle = getattr(module, "_handle", None)
            if getattr(handle, "flat_param", None) is not None:
                yield path.replace("_fsdp_wrapped_module.", "").replace("_fsdp_wrapped_module", "").rstrip("."), handle


def _cut_flat(prefix: str, flat: Any, start: int, count: int) -> Iterator[tuple[str, list[int], int, int, int]]:
    at = 0
    for name, shape, numel in zip(flat._fqns, flat._shapes, flat._numels):
        first, last = max(at, start), min(at + numel, start + count)
        whole = f"{prefix}.{name}" if prefix else name
        yield whole, list(shape), max(0, first - at), max(0, first - start), max(0, last - first)
        at += numel
