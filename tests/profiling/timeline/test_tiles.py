"""Tiles lose no event, searches find every one, and sums are those that one would add up by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ascend_workbook.profiling.timeline import tiles
from ascend_workbook.profiling.timeline.index import Curve, Index, Part, build_index
from ascend_workbook.profiling.trace import Event, build_trace
from tests.profiling.timeline.large import make_large
from tests.profiling.timeline.test_index import random_events


@pytest.fixture(scope="module")
def index() -> Index:
    """Some 900 events of three lanes, which overlap as they like, many of one begin."""
    lane, start, length = random_events(5, 900)
    events = [
        Event(f"n{at % 13}", ("host_op", "compute")[at % 2], f"lane {lane[at]}", int(start[at]), int(length[at]))
        for at in range(lane.size)
    ]
    return build_index([Part(0, build_trace(events, source="made", dialect="kineto"))])


@pytest.mark.parametrize("width", [1, 2, 8, 64, 1024])
def test_a_tile_counts_every_event_and_all_of_its_time(index: Index, width: int) -> None:
    rows = np.arange(index.rows)
    boxes = tiles.cut_tile(index, 0, width, index.span_ns // width + 1, rows)
    assert int(boxes.events.sum()) == len(index)
    assert boxes.own_ns.sum() == index.length_ns.sum()
    single = boxes.place[boxes.place >= 0]
    assert len(set(single.tolist())) == single.size
    long = np.flatnonzero(index.length_ns >= width)
    assert set(long.tolist()) <= set(single.tolist())  # none of them is merged
    if width == 1:
        assert sorted(single.tolist()) == list(range(len(index)))
    merged = boxes.place < 0
    assert (boxes.length_ns[merged] <= 2 * width).all() and (boxes.events[merged] > 1).all()
    assert (np.diff(boxes.row) >= 0).all()


def test_a_tile_shows_what_reaches_into_it(index: Index) -> None:
    longest = int(index.length_ns.argmax())
    begin, row = int(index.begin_of(np.array([longest]))[0]), int(index.row_of(np.array([longest]))[0])
    middle = begin + int(index.length_ns[longest]) // 2
    boxes = tiles.cut_tile(index, middle, 1, 4, np.array([row]))
    assert longest in boxes.place.tolist()
    after = tiles.cut_tile(index, begin + int(index.length_ns[longest]), 1, 4, np.array([row]))
    assert longest not in after.place.tolist()


def test_a_tile_packs_as_the_page_reads_it(index: Index) -> None:
    boxes = tiles.cut_tile(index, 0, 64, 40, np.arange(2))
    packed, many = boxes.pack(), boxes.row.size
    assert np.frombuffer(packed[:4], "<u4")[0] == many and len(packed) == 8 + many * (3 * 8 + 6 * 4)
    assert np.frombuffer(packed, "<f8", many, 8).tolist() == boxes.begin_ns.tolist()
    assert np.frombuffer(packed, "<i4", many, 8 + 24 * many + 8 * many).tolist() == boxes.events.tolist()


def test_a_search_finds_every_event_once(index: Index) -> None:
    found = tiles.search_names(index, " N1")  # n1, n10, n11, n12
    counts = Counter(index.names[at] for at in index.name.tolist())
    assert found["count"] == sum(counts[f"n{at}"] for at in (1, 10, 11, 12)) and found["names"] == 4
    hits = [tiles.find_hit(index, found["numbers"], number) for number in range(1, found["count"] + 1)]
    places = [hit["place"] for hit in hits if hit]
    assert len(set(places)) == found["count"] and {index.names[index.name[at]] for at in places} == {
        "n1", "n10", "n11", "n12"
    }  # fmt: skip
    begins = [hit["begin_ns"] for hit in hits if hit]
    assert begins == sorted(begins)
    assert tiles.find_hit(index, found["numbers"], found["count"] + 1) is None
    total = sum(int(index.length_ns[at]) for at in places)
    assert found["total_ns"] == total == sum(row[3] for row in found["rows"])
    strip = tiles.count_hits(index, found["numbers"], 0, index.span_ns, 37)
    assert int(strip.sum()) == found["count"]


def test_1080_events_of_a_name_are_1080_hits() -> None:
    """As in a step of a vision model: operators, what is in them, kernels, and all else around."""
    index = build_index([Part(0, make_large(9_000, per_step=3_600, every_ns=40_000))])
    softmax = [index.names[at] for at in index.name.tolist() if "softmax" in index.names[at]]
    found = tiles.search_names(index, "SoftMax")
    assert found["count"] == len(softmax) == 1080
    places = {tiles.find_hit(index, found["numbers"], number)["place"] for number in range(1, 1081)}  # type: ignore[index]
    assert len(places) == 1080


def test_the_first_of_a_name_after_a_moment(index: Index) -> None:
    begins = sorted(
        int(index.begin_of(np.array([at]))[0]) for at in range(len(index)) if index.names[index.name[at]] == "n3"
    )
    found = tiles.find_first(index, "n3", begins[4] + 1)
    assert found and found["begin_ns"] == next(begin for begin in begins if begin > begins[4])
    assert tiles.find_first(index, "n3", begins[-1] + 1) is None and tiles.find_first(index, "none", 0) is None


def test_sums_of_a_window_are_those_of_its_parts(index: Index) -> None:
    begin, end, rows = 400, 1100, np.array([0, 1, 2])
    spent: Counter[str] = Counter()
    count = 0
    for at in range(len(index)):
        one = np.array([at])
        start, length = int(index.begin_of(one)[0]), int(index.length_ns[at])
        inside = min(start + length, end) - max(start, begin)
        if int(index.row_of(one)[0]) in rows and start < end and inside >= 0:
            spent[index.names[index.name[at]]] += inside
            count += 1
    told = tiles.sum_window(index, begin, end, rows)
    assert {row[0]: row[2] for row in told["rows"] if row[2]} == {name: float(ns) for name, ns in spent.items() if ns}
    assert told["total_ns"] == sum(spent.values()) and abs(told["count"] - count) <= len(rows)
    name, most = spent.most_common(1)[0]
    some = tiles.sum_window(index, begin, end, rows, [index.names.index(name)])
    assert [row[:1] + row[2:3] for row in some["rows"]] == [[name, float(most)]]


def test_one_event_names_its_launcher_and_what_it_launched() -> None:
    events = [
        Event("outer", "host_op", "host", 0, 100),
        Event("inner", "host_op", "host", 10, 50),
        Event("kernel", "compute", "device 0 stream 7", 200, 30, launched_by=1),
        Event("later", "compute", "device 0 stream 7", 300, 30, launched_by=1),
    ]
    index = build_index([Part(0, build_trace(events, source="made", dialect="kineto"))])
    place = {index.names[number]: at for at, number in enumerate(index.name.tolist())}
    told = {name: tiles.describe_event(index, at) for name, at in place.items()}
    assert told["kernel"]["by"][4] == "inner" and told["outer"]["by"] is None
    assert (
        [one[4] for one in told["outer"]["launched"]]
        == ["kernel", "later"]
        == [one[4] for one in told["inner"]["launched"]]
    )
    assert told["kernel"]["launched"] == [] and told["inner"]["same"] == [1, 50.0]


def test_a_curve_keeps_its_peaks_and_what_it_had_before() -> None:
    index = build_index(
        [
            Part(
                0,
                build_trace([Event("op", "host_op", "host", 0, 1000)], source="made", dialect="kineto"),
                (Curve("allocated", "MB", np.array([100, 110, 500]), np.array([5.0, 90.0, 2.0])),),
            )
        ]
    )
    assert tiles.sample_curve(index, 0, 0, 1000, 10).tolist() == [0, 90, 90, 90, 90, 90, 2, 2, 2, 2]


def test_lanes_are_as_busy_as_their_events() -> None:
    trace = build_trace(
        [Event("a", "host_op", "host", 0, 500), Event("b", "host_op", "host", 700, 300)], source="m", dialect="kineto"
    )
    rows = tiles.summarise_lanes(build_index([Part(2, trace)]), 10)
    assert rows == [(2, "host", "9999900999")]
