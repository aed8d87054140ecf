"""A rank's allocator, replayed: sums by hand, whose each block is, and that nothing is counted twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.planning.rehearsal.memory import (
    KINDS,
    MOST_POINTS,
    Block,
    find_line,
    judge_kind,
    load_memory,
    replay_memory,
    thin_curve,
)

USER = ["/home/u/train.py", 8, "<module>"]
TORCH = ["/x/site-packages/torch/nn/modules/linear.py", 30, "forward"]
REDUCER = ["/x/site-packages/torch/nn/parallel/distributed.py", 9, "_ddp_init_helper"]
FRAMES = [[], [TORCH, USER], [TORCH, REDUCER, USER]]
K = 1024


def content(events: list[list[Any]], marks: list[list[Any]], active: int = 0) -> dict[str, Any]:
    stats = {"active_bytes.all.peak": active, "allocated_bytes.all.peak": active, "reserved_bytes.all.peak": 0}
    return {
        "rank": 0,
        "events": events,
        "frames": FRAMES,
        "marks": marks,
        "stats": stats,
        "steps": [],
        "host_peak_kib": 1,
        "cpu_s": 1.0,
        "seconds": 1.0,
        "settings": "",
        "fragments": {},
    }


def test_a_step_by_hand() -> None:
    """A weight, an activation, a gradient that is freed after the update, state: who holds what at the peak."""
    room = 2 * K - 32  # with its padding 2 KiB
    events = [
        ["segment_alloc", 1, 32 * K, 0],
        ["alloc", 100, room, 1],  # weight
        ["alloc", 200, room, 1],  # activation
        ["alloc", 300, room, 0],  # gradient: of the backward pass, no frames
        ["free_completed", 200, room, 0],
        ["alloc", 400, room, 1],  # state
        ["free_completed", 300, room, 0],
        ["alloc", 500, room, 1],
    ]
    marks = [
        [0, "module", "layer"],
        [2, "module", None],
        [3, "owners", "gradients", [[300, "w"]]],
        [3, "phase", "optimizer", "Adam"],
        [4, "phase", None],
        [4, "owners", "weights", [[100, "w"]]],
        [4, "owners", "optimizer", [[400, "exp_avg"]]],
    ]
    memory = replay_memory(content(events, marks, 6 * K))
    assert memory.active == 6 * K and memory.replayed and memory.reserved == 0
    assert memory.by_kind == {**dict.fromkeys(KINDS, 0), "weights": 2 * K, "activations": 2 * K, "gradients": 2 * K}
    held = {(holder.kind, holder.module, holder.line): holder.bytes for holder in memory.holders}
    assert held == {("weights", "w", 0): 2 * K, ("activations", "layer", 8): 2 * K, ("gradients", "w", 0): 2 * K}
    assert replay_memory(content(events, marks, 7 * K)).replayed is False


def test_sizes_are_the_allocators() -> None:
    """32 bytes of padding, then whole units of 512."""
    for asked, taken in ((1, 512), (480, 512), (481, 1024), (4 * K, 4 * K + 512)):
        assert replay_memory(content([["alloc", 1, asked, 1]], [])).active == taken


def test_repeated_layers_stand_together() -> None:
    events = [["alloc", address, 480, 1] for address in (1, 2, 3)]
    marks = [[3, "owners", "weights", [[1, "layers.0.q.weight"], [2, "layers.11.q.weight"], [3, "norm2.weight"]]]]
    holders = replay_memory(content(events, marks)).holders
    assert [(holder.module, holder.count) for holder in holders] == [("layers.*.q.weight", 2), ("norm2.weight", 1)]


@pytest.mark.parametrize(
    ("frames", "phase", "kind"),
    [
        (FRAMES[2], None, "communication"),
        (FRAMES[1], None, "activations"),
        (FRAMES[1], "optimizer", "temporary"),
        (FRAMES[0], None, "temporary"),
        ([USER, REDUCER], None, "activations"),  # the wrapper's forward around the user's own code
    ],
)
def test_who_asked(frames: list[list[Any]], phase: str | None, kind: str) -> None:
    assert judge_kind(Block(512, 1, frames, phase=phase)) == kind


def test_a_line_is_the_users() -> None:
    assert find_line(FRAMES[1]) == ("/home/u/train.py", 8)
    assert find_line([TORCH]) == ("", 0)


def test_what_was_refused_is_told() -> None:
    memory = replay_memory(content([["alloc", 1, 480, 1], ["oom", 5, 4096, 1]], []))
    assert memory.refused == 4096


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 9), st.integers(1, 9000)), max_size=40))
def test_the_peak_is_the_sum_of_its_kinds(steps: list[tuple[bool, int, int]]) -> None:
    """Of any order of allocations and frees: kinds sum to the peak, holders too, and no curve is above it."""
    live: set[int] = set()
    events: list[list[Any]] = []
    for takes, address, size in steps:
        if takes and address not in live:
            live.add(address)
            events.append(["alloc", address, size, 1])
        elif not takes and address in live:
            live.remove(address)
            events.append(["free_completed", address, size, 0])
    memory = replay_memory(content(events, []))
    assert sum(memory.by_kind.values()) == memory.active == sum(holder.bytes for holder in memory.holders)
    assert max((sum(point[2].values()) for point in memory.curve), default=0) <= memory.active


def test_a_thin_curve_keeps_the_peak() -> None:
    points = [(number, 0, {"weights": 1 if number != 777 else 99}) for number in range(1000)]
    thin = list(thin_curve(points))
    assert len(thin) <= MOST_POINTS and max(point[2]["weights"] for point in thin) == 99


@pytest.mark.parametrize("text", ["", "[]", '{"events": []}'])
def test_what_is_broken_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "memory.rank0.json"
    path.write_text(text)
    with pytest.raises(WorkbookError, match=r"memory\.rank0\.json"):
        load_memory(path)
    with pytest.raises(WorkbookError, match="absent"):
        load_memory(tmp_path / "absent.json")
    path.write_text(json.dumps(content([], [])))
    assert load_memory(path).active == 0


def test_a_model_as_it_is_built_is_weights() -> None:
    """A model that lay whole on the card before it was sharded: nobody owns it at the end, and it is no activation."""
    events = [["alloc", 1, 480, 1], ["free_completed", 1, 480, 0], ["alloc", 2, 480, 1], ["alloc", 3, 480, 1]]
    memory = replay_memory(content(events, [[2, "module", "layer"]]))
    assert memory.by_kind["weights"] == 512 and memory.by_kind["activations"] == 512
    whole = replay_memory(content([["alloc", 1, 9000, 1], *events[1:]], [[2, "module", "layer"]]))
    assert whole.holders[0].module == "(build)" and whole.holders[0].line == 8
    assert memory.later == whole.later == 1024, "what the steps take stands beside what building took"
    assert replay_memory(content(events[:2], [])).later == 0
