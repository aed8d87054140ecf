"""Whose memory it was: what torch_npu's allocator did in a rehearsal, replayed with the marks of the process."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError, explain_os_error

#: In the order in which a chart stacks them.
KINDS = ("weights", "gradients", "optimizer", "communication", "activations", "temporary")
#: NPUCachingAllocator.cpp (torch_npu 2.13.0): 32 bytes of padding, then up to a multiple of 512.
PADDING, UNIT = 32, 512
#: Files of PyTorch that are nobody's: who called them is asked.
LIBRARY = re.compile(r"/(?:site-packages|dist-packages)/(?:torch|torch_npu)/|/python/torch_npu/|^<|/launch/child/")
DISTRIBUTED = re.compile(r"/torch(?:_npu)?/(?:distributed|nn/parallel)/")
#: Numbers in a module's name: layers of one kind stand together.
NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")
#: The phase before the first forward pass.
BUILD = "build"
#: Points of a curve that a chart shows.
MOST_POINTS = 36


@dataclass
class Block:
    """One allocation. `bytes` as the allocator rounds them; `line` is "file:line" of the user's own code."""

    bytes: int
    number: int
    frames: Sequence[Sequence[Any]]
    kind: str = ""
    owner: str = ""
    module: str | None = None
    phase: str | None = None


@dataclass(frozen=True)
class Holder:
    """What holds memory at the peak: all blocks of one kind, module and line together."""

    kind: str
    module: str
    file: str
    line: int
    bytes: int
    count: int


@dataclass(frozen=True)
class Memory:
    """The memory of one rank, in bytes.

    peak, reserved: the allocator's own largest numbers. active: the largest sum that the replay saw, `replayed` whether
    it is the allocator's own. by_kind: at that moment. curve: points of (allocation, reserved, bytes by kind).
    refused: bytes asked for when nothing was left, 0 where all fitted. later: the largest sum from the first forward
    pass on, 0 where the rank did not come to one."""

    rank: int
    peak: int
    reserved: int
    active: int
    replayed: bool
    by_kind: Mapping[str, int]
    holders: tuple[Holder, ...]
    curve: tuple[tuple[int, int, Mapping[str, int]], ...]
    steps: tuple[Mapping[str, int], ...]
    refused: int = 0
    host_peak: int = 0
    cpu_s: float = 0.0
    seconds: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)
    later: int = 0

    @property
    def fragmentation(self) -> int:
        """Return what was reserved beyond the largest sum in use: the price of pieces that fit nothing."""
        return max(0, self.reserved - self.active)


def load_memory(path: Path) -> Memory:
    """Read what the watch of one rank wrote. Raises WorkbookError where it is absent or broken."""
    try:
        return replay_memory(json.loads(path.read_text(encoding="utf-8")))
    except OSError as cause:
        raise WorkbookError("rehearsal.no_memory", path=str(path), why=explain_os_error(cause)) from cause
    except (ValueError, KeyError, TypeError, IndexError) as cause:
        raise WorkbookError("rehearsal.no_memory", path=str(path), why=f"{type(cause).__name__}: {cause}") from cause


def replay_memory(content: Mapping[str, Any]) -> Memory:
    """Replay the events of a rank: first to learn whose each block was, then to see what stood at the peak."""
    events, frames = content["events"], content["frames"]
    blocks = list(_own_blocks(events, frames, content["marks"]))
    for block in blocks:
        block.kind = block.kind or judge_kind(block)
    numbers = {block.number: block for block in blocks}
    active, reserved, most, most_reserved, refused, most_later = 0, 0, 0, 0, 0, 0
    built = False
    live: dict[int, Block] = {}
    at_peak: list[Block] = []
    sums: dict[str, int] = dict.fromkeys(KINDS, 0)
    curve = []
    every = max(1, len(events) // (4 * MOST_POINTS))
    number = 0
    for place, (action, address, size, _) in enumerate(events):
        if action == "alloc":
            number += 1
            block = numbers[number]
            live[address] = block
            active += block.bytes
            sums[block.kind] += block.bytes
            built = built or block.phase != BUILD
            most_later = max(most_later, active if built else 0)
            if active > most:
                most, at_peak = active, list(live.values())
        elif action == "free_completed" and address in live:
            block = live.pop(address)
            active -= block.bytes
            sums[block.kind] -= block.bytes
        elif action in ("segment_alloc", "segment_map"):
            reserved += size
        elif action in ("segment_free", "segment_unmap"):
            reserved -= size
        elif action == "oom":
            refused = size
        most_reserved = max(most_reserved, reserved)
        if place % every == 0 or place == len(events) - 1:
            curve.append((number, reserved, dict(sums)))
    stats = content["stats"]
    real = int(stats.get("active_bytes.all.peak", 0))
    return Memory(
        rank=int(content["rank"]),
        peak=int(stats.get("allocated_bytes.all.peak", most)),
        reserved=int(stats.get("reserved_bytes.all.peak", most_reserved)),
        active=most,
        replayed=most == real,
        by_kind=_sum_kinds(at_peak),
        holders=tuple(_find_holders(at_peak)),
        curve=tuple(thin_curve(curve)),
        steps=tuple(content["steps"]),
        refused=refused,
        host_peak=int(content["host_peak_kib"]) << 10,
        cpu_s=float(content["cpu_s"]),
        seconds=float(content["seconds"]),
        facts={"settings": content["settings"], "fragments": content["fragments"], "events": len(events)},
        later=most_later,
    )


def _own_blocks(events: Sequence[Any], frames: Sequence[Any], marks: Sequence[Any]) -> Iterator[Block]:
    """Yield every block with the module and phase it was made in, and its owner where the process named one. Before the
    first forward pass the phase is BUILD."""
    live: dict[int, Block] = {}
    blocks: list[Block] = []
    module: str | None = None
    phase: str | None = BUILD
    waiting = iter([*marks, [float("inf"), "end"]])
    mark = next(waiting)
    for action, address, size, number in events:
        while mark[0] <= len(blocks):  # what is owned is still there: marks come before the frees behind them
            if mark[1] == "module":
                module = mark[2]
                phase = None if phase == BUILD else phase
            elif mark[1] == "phase":
                phase = mark[2]
            elif mark[1] == "owners":
                _name_owners(live, mark[2], mark[3])
            mark = next(waiting)
        if action == "alloc":
            rounded = (size + PADDING + UNIT - 1) // UNIT * UNIT
            block = Block(rounded, len(blocks) + 1, frames[number], module=module, phase=phase)
            live[address] = block
            blocks.append(block)
        elif action == "free_completed":
            live.pop(address, None)
    for rest in (mark, *waiting):
        if rest[1] == "owners":
            _name_owners(live, rest[2], rest[3])
    yield from blocks


def _name_owners(live: Mapping[int, Block], kind: str, named: Sequence[Sequence[Any]]) -> None:
    """Give blocks to their owners; a block that is a weight stays one, whatever else points into it."""
    for address, name in named:
        block = live.get(address)
        if block is not None and not block.kind:
            block.kind, block.owner = kind, name


def judge_kind(block: Block) -> str:
    """Return the kind of a block that nobody claimed, by the code that asked for it."""
    for file, _, _ in block.frames:
        if DISTRIBUTED.search(file):
            return "communication"
        if not LIBRARY.search(file):
            break
    if block.phase == BUILD:  # a model as it is built, of which only parts may stay
        return "weights"
    if block.phase == "optimizer" or not block.frames:
        return "temporary"
    return "activations"


def _sum_kinds(blocks: Sequence[Block]) -> dict[str, int]:
    sums = dict.fromkeys(KINDS, 0)
    for block in blocks:
        sums[block.kind] += block.bytes
    return sums


def find_line(frames: Sequence[Sequence[Any]]) -> tuple[str, int]:
    """Return file and line of the innermost frame that is not PyTorch's own; empty and 0 where there is none."""
    own = ((str(file), int(line)) for file, line, _ in frames if not LIBRARY.search(file))
    return next(own, ("", 0))


def _find_holders(blocks: Sequence[Block]) -> list[Holder]:
    """Join the blocks at the peak by kind, module and line, those of repeated layers too; the largest first."""
    groups: dict[tuple[str, str, str, int], list[int]] = defaultdict(lambda: [0, 0])
    for block in blocks:
        owned = bool(block.owner)
        file, line = ("", 0) if owned else find_line(block.frames)
        if block.kind in ("weights", "gradients", "optimizer"):
            name = block.owner or f"({block.phase})"
        else:
            name = "optimizer.step" if block.phase == "optimizer" else block.module or ""
        name = NUMBER.sub("*", name)
        group = groups[block.kind, name, file, line]
        group[0] += block.bytes
        group[1] += 1
    holders = [Holder(*key, size, count) for key, (size, count) in groups.items()]
    return sorted(holders, key=lambda holder: -holder.bytes)


def thin_curve(points: Sequence[tuple[int, int, Mapping[str, int]]]) -> Iterator[tuple[int, int, Mapping[str, int]]]:
    """Yield at most MOST_POINTS points: of each stretch the one with most in use, so that no peak is lost."""
    every = -(-len(points) // MOST_POINTS) or 1
    for start in range(0, len(points), every):
        yield max(points[start : start + every], key=lambda point: sum(point[2].values()))
