"""The index of all events: rows in which nothing overlaps, places that are found, texts without credentials."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ascend_workbook.profiling.facts import load_profile
from ascend_workbook.profiling.timeline.index import (
    LEVELS,
    Index,
    Part,
    build_index,
    count_queue,
    find_shifts,
    stack_levels,
)
from ascend_workbook.profiling.timeline.step import compute_levels
from ascend_workbook.profiling.trace import Event, Trace, build_trace
from tests.profiling.conftest import DATA, WITH_DEVICE
from tests.profiling.timeline.large import make_large


def random_events(seed: int, many: int = 400, nests: bool = False) -> tuple[Any, Any, Any]:
    """Make events of three lanes; `nests`: like brackets."""
    chance = np.random.default_rng(seed)
    if not nests:
        lane = chance.integers(0, 3, many).astype(np.int32)
        return lane, chance.integers(0, 2000, many).astype(np.int64), chance.integers(0, 80, many).astype(np.int64)
    spans = [(0, 0, 3000), (1, 0, 3000)]
    while len(spans) < many:
        lane_, begin, end = spans[int(chance.integers(len(spans)))]
        if end - begin > 4:
            inner = sorted(chance.integers(begin, end + 1, 2).tolist())
            siblings = [s for s in spans if s[0] == lane_ and s != (lane_, begin, end)]
            if (
                all(
                    s[2] <= inner[0]
                    or s[1] >= inner[1]
                    or (s[1] <= inner[0] and s[2] >= inner[1])
                    or (inner[0] <= s[1] and inner[1] >= s[2])
                    for s in siblings
                )
                and inner[1] > inner[0]
            ):
                spans.append((lane_, inner[0], inner[1]))
    columns = np.array(spans, np.int64)
    return columns[:, 0].astype(np.int32), columns[:, 1], columns[:, 2] - columns[:, 1]


@pytest.mark.parametrize("seed", range(6))
def test_no_two_on_one_level_overlap(seed: int) -> None:
    lane, start, length = random_events(seed)
    level = stack_levels(lane, start, length)
    for row in set(zip(lane.tolist(), level.tolist())):
        at = np.flatnonzero((lane == row[0]) & (level == row[1]))
        at = at[np.argsort(start[at])]
        assert (start[at][1:] >= (start + np.maximum(1, length))[at][:-1]).all()


@pytest.mark.parametrize("seed", range(3))
def test_what_nests_stands_as_one_by_one(seed: int) -> None:
    lane, start, length = random_events(seed, 60, nests=True)
    assert stack_levels(lane, start, length).tolist() == compute_levels(lane, start, length).tolist()


def test_events_without_length_stand_below_one_another_and_have_an_end() -> None:
    many = LEVELS + 40
    level = stack_levels(np.zeros(many, np.int32), np.zeros(many, np.int64), np.zeros(many, np.int64))
    assert sorted(set(level.tolist())) == list(range(LEVELS))


@pytest.mark.parametrize("name", WITH_DEVICE)
def test_all_of_the_trace_is_in_it(name: str) -> None:
    trace = load_profile(DATA / name).trace
    index = build_index([Part(3, trace)])
    assert (np.diff(index.key) > 0).all() and len(index) == len(trace)
    places = np.arange(len(index))
    rows = sorted(zip((trace.start_ns - index.start_ns).tolist(), trace.duration_ns.tolist(), trace.kind.tolist()))
    assert rows == sorted(zip(index.begin_of(places).tolist(), index.length_ns.tolist(), index.kind.tolist()))
    launched = int((trace.launched_by >= 0).sum())
    assert launched == int((index.by >= 0).sum())
    for place in np.flatnonzero(index.by >= 0).tolist():
        row = next(
            at
            for at in range(len(trace))
            if trace.start_ns[at] - index.start_ns == index.begin_of(np.array([place]))[0]
            and trace.names[trace.name[at]] == index.names[index.name[place]]
            and trace.launched_by[at] >= 0
        )
        assert index.names[index.name[index.by[place]]] == trace.names[trace.name[trace.launched_by[row]]]


@pytest.mark.parametrize("blocks", [1, 40])
def test_the_longest_of_a_range_is_found(blocks: int) -> None:
    index = build_index([Part(0, make_large(8000, per_step=400))])
    chance = np.random.default_rng(1)
    first = chance.integers(0, len(index) - 900, 200)
    end = first + chance.integers(1, 20 * blocks, 200)
    found = index.longest_in(first, end)
    assert ((found >= first) & (found < end)).all()
    if blocks == 1:  # small ranges exactly; of large ones the whole blocks
        assert [int(index.length_ns[at]) for at in found] == [
            int(index.length_ns[a:b].max()) for a, b in zip(first, end)
        ]


def of_ranks(gap_ns: int = 0) -> list[Trace]:
    return [
        build_trace(
            [
                Event("ProfilerStep#1", "step", "host", 1000 + rank * gap_ns, 500),
                Event("shared", "host_op", "host", 1100 + rank * gap_ns, 10 + rank),
                Event(f"own {rank}", "compute", "device 0 stream 7", 1200 + rank * gap_ns, 20, launched_by=1),
            ],
            source="made",
            dialect="kineto",
        )
        for rank in range(2)
    ]


def test_ranks_stand_one_below_the_other() -> None:
    index = build_index([Part(rank, trace) for rank, trace in enumerate(of_ranks())])
    assert [lane.rank for lane in index.lanes] == [0, 0, 0, 1, 1, 1]
    assert [step.rank for step in index.steps] == [0, 1]
    assert index.names.count("shared") == 1 and index.name_bounds[-1] == 6
    by = [(index.names[index.name[at]], index.names[index.name[index.by[at]]]) for at in np.flatnonzero(index.by >= 0)]
    assert by == [("own 0", "shared"), ("own 1", "shared")]
    assert int(index.row_of(index.by[index.by >= 0])[1]) > 2  # its own rank's, not the other's


def test_ranks_of_other_clocks_are_laid_over_the_first() -> None:
    hour = 3600 * 10**9
    assert find_shifts(of_ranks(hour)) == [0, -hour]
    index = build_index([Part(rank, trace) for rank, trace in enumerate(of_ranks(hour))])
    assert index.shifted == {1: -hour} and index.span_ns < 1000


def test_a_credential_in_a_name_is_taken_out() -> None:
    secret = "hf_" + "abcdefghijklmnopqrstuvwxyz0123456789"[:34]
    trace = build_trace([Event(f"load {secret}", "host_op", secret, 0, 5, shape=secret)], source="x", dialect="kineto")
    index = build_index([Part(0, trace)], source=secret)
    assert secret not in repr((index.names, index.lanes, index.shapes, index.source))


def test_the_queue_counts_what_was_launched_and_has_not_begun() -> None:
    events = [Event("op", "host_op", "host", 0, 10)]
    events += [Event("k", "compute", "device 0 stream 7", 100 + 50 * at, 50, launch_ns=10 * at) for at in range(4)]
    curve = count_queue(build_trace(events, source="made", dialect="kineto"))
    assert curve is not None
    assert list(zip(curve.at_ns.tolist(), curve.value.tolist())) == [
        (0, 1.0), (10, 2.0), (20, 3.0), (30, 4.0), (100, 3.0), (150, 2.0), (200, 1.0), (250, 0.0),
    ]  # fmt: skip
    assert count_queue(build_trace([events[0]], source="made", dialect="kineto")) is None


def test_families_are_of_the_devices_work_alone() -> None:
    trace = build_trace(
        [
            Event("aten::matmul", "host_op", "host", 0, 9),
            Event("MatMulV2", "compute", "device 0 stream 7", 10, 9),
            Event("anything", "communication", "device 0 stream 8", 10, 9),
        ],
        source="made",
        dialect="ascend",
    )
    index: Index = build_index([Part(0, trace)])
    from ascend_workbook.profiling.timeline.page import describe_side

    families = describe_side(index, "")["families"]
    assert [families[at] for at in index.family_at(slice(None)).tolist()] == ["", "gemm", "collective"]
