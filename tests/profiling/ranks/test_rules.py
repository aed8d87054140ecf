"""Slow ranks, uneven pipelines, slow links, small packets: each rule fires on its case and not on the near miss."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.ranks.facts import Group, Link, Packets, RankFacts
from ascend_workbook.profiling.ranks.rules.waiting import short_rank_name
from ascend_workbook.profiling.ranks.together import group_ranks_by_run, report_links
from ascend_workbook.profiling.ranks.waiting import FIRST_UNMAPPED, NOBODY
from tests.profiling.ranks.conftest import MS, judged, make_rank, together


def own(rank: int, ms: float, part: str = "free", **more: Any) -> RankFacts:
    """A rank that needs so long for itself and waits for the rest of 100 ms."""
    parts = {"communication": 100 - ms, "computing": 10.0, **({part: ms - 10.0} if part != "free" else {})}
    if part == "computing":
        parts["computing"] = ms
    return make_rank(rank, **parts, **more)


@pytest.mark.parametrize("part", ["computing", "loading", "free", "copy"])
@pytest.mark.parametrize("count", [2, 5])
def test_a_slow_rank_and_its_part(part: str, count: int) -> None:
    ranks = [own(0, 90, part), *(own(rank, 30, part) for rank in range(1, count))]
    (found,) = judged(together(*ranks), "PRF353")
    assert found.status is Status.LOOK and found.args["rank"] == 0
    assert found.args["part"] == {"say": f"ranks.part.{part}"}
    assert (found.args["own_ms"], found.args["gain_ms"], found.args["fastest_ms"]) == (90.0, 60.0, 60.0)


@pytest.mark.parametrize("own_ms", [(50, 50), (50, 52), (48, 50, 52, 51), (40, 60, 50, 45, 62)])
def test_a_healthy_spread_is_not_slow(own_ms: tuple[float, ...]) -> None:
    (found,) = judged(together(*(own(rank, ms) for rank, ms in enumerate(own_ms))), "PRF353")
    assert found.status is Status.GOOD and found.args["most_ms"] == max(own_ms)


def test_one_bad_step_is_not_a_slow_rank() -> None:
    steady = make_rank(0, steps=5, communication=20)
    hiccup = make_rank(1, steps=5, communication=20, jitter=(0, 60, 0, 0, 0))
    assert judged(together(steady, hiccup), "PRF353")[0].status is Status.GOOD
    always = make_rank(1, steps=5, communication=20, jitter=(12, 13, 11, 12, 14))
    assert judged(together(steady, always), "PRF353")[0].args["rank"] == 1


def test_two_steps_are_too_few_to_tell_what_is_usual() -> None:
    """30 and 1 ms less than the other, or 30, 1 less and 1 less: of three steps one was bad."""
    for jitter, status in (((30, -1), Status.LOOK), ((30, -1, -1), Status.GOOD)):
        steady = make_rank(0, steps=len(jitter), communication=20)
        found = judged(together(steady, make_rank(1, steps=len(jitter), communication=20, jitter=jitter)), "PRF353")
        assert found[0].status is status


def test_on_the_simulator_it_is_only_a_note() -> None:
    ranks = [replace(own(rank, ms), simulated=True) for rank, ms in enumerate((90, 30))]
    assert judged(together(*ranks), "PRF353")[0].status is Status.NOTE


def test_one_rank_has_no_peer() -> None:
    assert judged(together(own(0, 50)), "PRF353")[0].status is Status.NOT_LOOKED


def pipeline(*computing: float, named: bool = True) -> list[RankFacts]:
    """Two ranks a stage; each stage's first rank is in a pipeline with the other stages' first."""
    found = []
    for rank, ms in enumerate(ms for ms in computing for _ in range(2)):
        members = tuple(range(rank % 2, 2 * len(computing), 2))
        groups = (Group("pp", members),) if named else ()
        calls = [("batchSendRecv", 10, 20, f"pipe{rank % 2}"), ("allReduce", 60, 5, f"dp{rank // 2}")]
        found.append(make_rank(rank, calls, computing=ms, communication=90 - ms, more={"groups": groups}))
    return found


@pytest.mark.parametrize("named", [True, False])
def test_an_uneven_pipeline(named: bool) -> None:
    cluster = together(*pipeline(23, 40, named=named))
    assert cluster.stages == {0: 0, 1: 0, 2: 1, 3: 1}
    (found,) = judged(cluster, "PRF354")
    assert found.status is Status.NOTE and found.args["gain_ms"] == 8.5
    assert (found.args["stage"], found.args["ranks"], found.args["times"]) == (1, [2, 3], 1.74)
    (alike,) = judged(cluster, "PRF353")
    assert alike.key == "PRF353.alike_in_stages" and alike.args["most_ms"] == alike.args["least_ms"]
    assert alike.status is Status.GOOD, "stages are not held against each other: their waits are no second problem"


def test_an_even_pipeline_and_none() -> None:
    assert judged(together(*pipeline(40, 41)), "PRF354")[0].key == "PRF354.even"
    assert not judged(together(own(0, 50), own(1, 50)), "PRF354")


def test_alike_in_stages_tells_the_stage_whose_ranks_differ_most() -> None:
    *others, last = pipeline(20, 40)
    sooner = [
        replace(step, parts_ns={**step.parts_ns, "communication": 48 * MS, "free": step.parts_ns["free"] + 2 * MS})
        for step in last.steps
    ]
    (alike,) = judged(together(*others, replace(last, steps=tuple(sooner))), "PRF353")
    assert alike.args == {"stage": 1, "least_ms": 50.0, "most_ms": 52.0}


def test_bubbles() -> None:
    """Stage 1 sends 30 ms late; what stages wait for each other is not a rank that comes late."""
    ranks = pipeline(30, 30)
    late = [("batchSendRecv", 29, 1, "pipe0"), ("allReduce", 64, 1, "dp1")]
    ranks[2] = make_rank(2, late, computing=30, communication=60, more={"groups": ranks[2].groups})
    cluster = together(*ranks)
    (found,) = judged(cluster, "PRF355")
    assert found.status is Status.NOTE and (found.args["rank"], found.args["longest_ms"]) == (0, 19.0)
    assert found.args["mean_ms"] == 4.75, "what rank 3 waits for rank 2 inside their stage is no bubble"
    assert judged(cluster, "PRF352")[0].status is not Status.LOOK
    told = [replace(one, steps=tuple(replace(step, bubble_ns=40 * MS) for step in one.steps)) for one in ranks]
    assert judged(together(*told), "PRF355")[0].args["mean_ms"] == 40.0, "the profiler's own column says more"


def linked(*speeds: float) -> RankFacts:
    told = tuple(Link("g", "allreduce", 0, to, "HCCS", 100.0, 100.0 / gb) for to, gb in enumerate(speeds, 1))
    calls = [("allReduce", 10, 60)]
    return make_rank(0, calls, communication=60, more={"links": told, "sizes": {"g": 8}})


def test_a_slow_link() -> None:
    (found,) = judged(together(linked(18, 18, 9, 17)), "PRF356")
    assert (found.args["target"], found.args["usual"], found.args["links"]) == (3, 18, 3), "never against itself"
    assert found.args["gain_ms"] == pytest.approx(100 / 9 - 100 / 18, abs=1e-3)
    assert judged(together(linked(18, 17, 15, 17)), "PRF356")[0].status is Status.GOOD
    (few,) = judged(together(linked(18, 9)), "PRF356")
    assert (few.status, few.key) == (Status.NOT_LOOKED, "PRF356.no_others"), "two have no usual speed"
    assert not judged(together(own(0, 50)), "PRF356")


def test_what_a_slow_link_loses_is_told_a_step() -> None:
    more = {"links": linked(18, 18, 9, 17).links, "sizes": {"g": 8}}
    two_steps = make_rank(0, [("allReduce", 10, 60)], steps=2, communication=60, more=more)
    (found,) = judged(together(two_steps), "PRF356")
    assert found.args["gain_ms"] == pytest.approx((100 / 9 - 100 / 18) / 2, abs=1e-3)


def test_a_pair_is_one_link_however_often_it_is_told() -> None:
    one = linked(18)
    often = replace(one, links=one.links * 4)
    table = report_links(together(often), [], "npu")
    assert table and table.table
    assert [table.table.column_values(name) for name in ("link_from", "link_to")] == [[0], [1]]
    assert table.table.column_values("link_size") == [400.0] and table.table.column_values("link_usual") == [None]
    assert judged(together(often), "PRF356")[0].status is Status.NOT_LOOKED


def test_small_packets() -> None:
    calls = [("allReduce", 10, 60)]

    def sending(small_ms: float) -> RankFacts:
        packets = (Packets("HCCS", 0.1, 100, small_ms), Packets("HCCS", 20.0, 1, 1.0))
        return make_rank(0, calls, communication=60, more={"packets": packets})

    (found,) = judged(together(sending(9.0)), "PRF357")
    assert found.key == "PRF357.small" and (found.args["best"], found.args["typical_mb"]) == (20.0, 0.1)
    assert found.args["gain_ms"] == pytest.approx(60 * (1 - 30 / 10 / 20), abs=1e-3)
    assert judged(together(sending(0.5)), "PRF357")[0].key == "PRF357.fine"


def test_sizes_of_packets_are_told_to_the_kilobyte() -> None:
    packets = (Packets("HCCS", 0.0625, 100, 9.0), Packets("HCCS", 20.0625, 1, 1.0))
    (found,) = judged(
        together(make_rank(0, [("allReduce", 10, 60)], communication=60, more={"packets": packets})), "PRF357"
    )
    assert (found.args["typical_mb"], found.args["best_mb"], found.args["best"]) == (0.062, 20.062, 20.06)
    assert found.args["gb_per_s"] == 2.63, "6.25 and 20.0625 MB in 10 ms"


def test_a_rank_without_collectives_beside_one_with_some() -> None:
    (found,) = judged(together(make_rank(0, [("allReduce", 10, 5)]), make_rank(1)), "PRF352")
    assert (found.status, found.key) == (Status.NOT_LOOKED, "PRF352.unmatched")


def test_facts_travel_as_json() -> None:
    one = replace(linked(18, 9), groups=(Group("pp", (0, 2)),), packets=(Packets("HCCS", 1.0, 2, 0.5),))
    again = RankFacts.from_dict(__import__("json").loads(__import__("json").dumps(one.to_dict())))
    assert again.to_dict() == one.to_dict() and again.groups == one.groups and again.steps == one.steps


def test_ranks_of_two_runs() -> None:
    calls = [("allReduce", 10, 30), ("allGather", 50, 10)]
    first = [make_rank(rank, calls, steps=3) for rank in range(2)]
    jittered = make_rank(2, [("allReduce", 12, 70), ("allGather", 90, 1)], steps=3, ahead_ms=3_600_000)
    assert group_ranks_by_run({one.rank: one for one in [*first, jittered]}) == [[0, 1], [2]]
    far = make_rank(2, calls, steps=3, ahead_ms=3_600_000)
    assert group_ranks_by_run({one.rank: one for one in [*first, far]}) == [[0, 1, 2]], (
        "its clock is wrong, by exactly an hour"
    )
    wide = replace(first[1], world_size=4)
    assert group_ranks_by_run({0: replace(first[0], world_size=2), 1: wide}) in ([[0], [1]], [[1], [0]])
    silent = make_rank(2, ahead_ms=3_600_000)
    assert group_ranks_by_run({one.rank: one for one in [*first, silent]}) == [[0, 1], [2]]


def test_the_rank_that_is_waited_for_as_a_cell_of_a_table() -> None:
    cluster = together(make_rank(0), make_rank(1))
    cluster = replace(cluster, waits=replace(cluster.waits, unmapped=(("g", 3), ("h", 5))))
    assert [short_rank_name(cluster, who) for who in (0, 1, NOBODY)] == [0, 1, None]
    assert short_rank_name(cluster, FIRST_UNMAPPED - 1) == Sentence("ranks.of_its_group", number=5)
