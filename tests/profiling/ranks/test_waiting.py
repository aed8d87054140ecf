"""Who waits for whom in a collective: by arrivals, by CANN's own waits, with clocks that differ."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.ranks.facts import Group, RankFacts, is_pairwise, kind_of
from ascend_workbook.profiling.ranks.facts import finishes_together as finish_together
from ascend_workbook.profiling.ranks.rules.recorded import check_clocks
from ascend_workbook.profiling.ranks.rules.waiting import _rival_ms, name_waited_rank, short_rank_name
from ascend_workbook.profiling.ranks.waiting import FIRST_UNMAPPED, NOBODY, find_member, match_calls
from tests.profiling.ranks.conftest import MS, judged, make_rank, together


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("hcom_allReduce__586_0_1", "allReduce"),
        ("hcom_batchSendRecv__128_4_1", "batchSendRecv"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "AllReduce"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", "AllReduce"),
        ("gloo:all_reduce", "all_reduce"),
    ],
)
def test_the_kind_of_a_collective(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_which_kinds_end_together_and_which_are_pairs() -> None:
    assert all(map(finish_together, ("allReduce", "all_gather", "ReduceScatter", "AllToAll")))
    assert not any(map(finish_together, ("broadcast", "batchSendRecv", "send")))
    assert is_pairwise("batchSendRecv") and is_pairwise("SendRecv") and not is_pairwise("allReduce")


def three() -> tuple[RankFacts, RankFacts, RankFacts]:
    """Arrivals at 10, 15 and 40 ms; all done at 42."""
    return tuple(make_rank(r, [("allReduce", t, 42 - t)], communication=42 - t) for r, t in enumerate((10, 15, 40)))  # type: ignore[return-value]


def test_each_waits_for_the_last() -> None:
    found = match_calls({one.rank: one for one in three()}, {})
    assert found.wait_ns.tolist() == [30 * MS, 25 * MS, 0]
    assert found.last.tolist() == [2, 2, 2] and found.members.tolist() == [3, 3, 3]
    assert found.late_ns.tolist() == [25 * MS, 25 * MS, 0], "as early as rank 1 would save no more"


def test_the_rule_names_the_last_with_its_bound() -> None:
    cluster = together(*three())
    (found,) = judged(cluster, "PRF352")
    assert found.key == "PRF352.seen" and found.status is Status.LOOK
    assert found.args["waited_rank"] == 2 and found.args["gain_ms"] == 25.0 and found.args["wait_ms"] == 30.0
    assert "rank 0 waits 30 of 32 ms a step in collectives for rank 2" in found.message("en")


def test_the_bound_is_no_more_than_what_nothing_hides() -> None:
    hidden = [make_rank(r, [("allReduce", t, 42 - t)], communication=4) for r, t in enumerate((10, 40))]
    assert judged(together(*hidden), "PRF352")[0].args["gain_ms"] == 4.0


def test_a_healthy_spread_is_no_finding() -> None:
    more = {"sizes": {"g": 4}}
    ranks = [make_rank(r, [("allReduce", 30 + r / 2, 10 - r / 2)], communication=10, more=more) for r in range(4)]
    (found,) = judged(together(*ranks), "PRF352")
    assert found.status is Status.GOOD and found.args["wait_ms"] == 1.5


def told(one: RankFacts, wait: float, peer: int, after: float, **more: object) -> RankFacts:
    of = {"told_wait_ns": wait, "peer": peer, "next_wait_ns": after}
    ns = {name: np.array([round(value * MS) if name != "peer" else value]) for name, value in of.items()}
    return replace(one, calls=replace(one.calls, **ns), **more)  # type: ignore[arg-type]


def test_a_wait_for_a_rank_that_is_not_here() -> None:
    """Ranks 0 and 1 of eight arrive 5 ms apart; both wait for member 5 by what they recorded themselves."""
    alike = {"sizes": {"g": 8}}
    first = told(make_rank(0, [("allReduce", 5, 80)], communication=80), 78, 5, 5, own_number={"g": 0}, **alike)
    second = told(make_rank(1, [("allReduce", 10, 75)], communication=75), 73, 5, 1, own_number={"g": 1}, **alike)
    cluster = together(first, second)
    (found,) = judged(cluster, "PRF352")
    assert found.key == "PRF352.unseen" and found.args["waited_rank"] == 5
    assert (found.args["wait_ms"], found.args["gain_ms"]) == (78.0, 73.0)
    alone = judged(together(first), "PRF352")[0]
    assert alone.args["waited_rank"] is None and "member 5 of its group" in alone.message("en")


def test_members_of_a_group_by_the_runs_own_groups() -> None:
    groups = {"groups": (Group("dp", (4, 6)), Group("default", (0, 4, 5, 6)))}
    one = make_rank(4, more={"own_number": {"g": 0}, "sizes": {"g": 2}, **groups})
    assert find_member({4: one}, "g", 0) == 4 and find_member({4: one}, "g", 1) == 6
    assert find_member({4: one}, "other", 1) is None
    two = replace(one, groups=(Group("dp", (4, 6)), Group("pp", (2, 4))))
    assert find_member({4: two}, "g", 1) == 6, "in the other group of two it would be the second"
    assert find_member({4: replace(one, groups=(Group("dp", (4, 6)), Group("pp", (4, 7))))}, "g", 1) is None


def test_what_is_not_here_is_not_called_transmission() -> None:
    """Of a group of unknown size two members were seen: the rest of the call may be waiting for a third."""
    ranks = [make_rank(r, [("allReduce", 10, 40)], communication=40) for r in range(2)]
    assert "PRF352.unseen_members" in [one.key for one in judged(together(*ranks), "PRF352")]
    whole = [replace(one, sizes={"g": 2}) for one in ranks]
    assert "PRF352.unseen_members" not in [one.key for one in judged(together(*whole), "PRF352")]


def test_not_looked_is_said() -> None:
    (alone,) = judged(together(make_rank(0, [("allReduce", 10, 40)])), "PRF352")
    assert alone.status is Status.NOT_LOOKED and alone.key == "PRF352.alone"
    apart = [make_rank(r, [("allReduce", 10, 40)], group=f"g{r}") for r in range(2)]
    assert judged(together(*apart), "PRF352")[0].key == "PRF352.unmatched"
    assert judged(together(make_rank(0), make_rank(1)), "PRF352")[0].key == "PRF352.none"


def test_calls_that_never_met_are_not_one_collective() -> None:
    found = match_calls({r: make_rank(r, [("all_reduce", 10 + 40 * r, 20)]) for r in range(2)}, {})
    assert found.members.tolist() == [1, 1] and found.last.tolist() == [NOBODY, NOBODY]


def shifted(ahead_ms: float, host: str = "") -> list[RankFacts]:
    calls = [("allReduce", 10, 30), ("allGather", 50, 10)]
    late = [("allReduce", 35, 5), ("allGather", 50, 10)]
    more = {"host": host, "sizes": {"g": 2}}
    return [
        make_rank(0, calls, steps=3, communication=40, more=more),
        make_rank(1, late, steps=3, ahead_ms=ahead_ms, communication=15, more=more),
    ]


def test_clocks_that_differ_are_set_right() -> None:
    cluster = together(*shifted(250.0))
    assert cluster.shifted_clocks()[1].ahead_ns == 250 * MS and cluster.shifted_clocks()[1].shared == 6
    (found,) = judged(cluster, "PRF351")
    assert found.key == "PRF351.apart" and found.args["ahead_ms"] == 250.0
    (late,) = judged(cluster, "PRF352")
    assert (late.args["waited_rank"], late.args["wait_ms"]) == (1, 25.0)


def test_clocks_that_agree_are_left_alone() -> None:
    cluster = together(*shifted(0.3))
    assert not cluster.shifted_clocks() and judged(cluster, "PRF351")[0].status is Status.GOOD
    assert not together(*shifted(250.0, host="h")).shifted_clocks(), "one host has one clock"


def test_a_collective_that_one_of_all_ranks_did_not_record_is_not_whole() -> None:
    short, long = (make_rank(r, [("allReduce", 10, 30)], steps=steps) for r, steps in ((0, 2), (1, 5)))
    everyone = {one.rank: replace(one, world_size=2, sizes={}) for one in (short, long)}
    cluster = together(*everyone.values())
    members = cluster.matches.members
    assert sorted(members.tolist()) == [1, 1, 1, 2, 2, 2, 2]
    assert cluster.fully_known_rows.tolist() == (members == 2).tolist()


def test_ranks_that_are_late_in_turn_are_no_cause() -> None:
    """Of two ranks each comes last in one of two collectives; then one of them in the longer one."""
    two = {"world_size": 2, "sizes": {"g": 2}}
    first = make_rank(0, [("allReduce", 10, 20), ("allReduce", 55, 5)], communication=25, more=two)
    other = make_rank(1, [("allReduce", 25, 5), ("allReduce", 42, 18)], communication=23, more=two)
    found = judged(together(first, other), "PRF352")
    assert {one.key for one in found} == {"PRF352.in_turn"} and found[0].args["waited_rank"] is None
    late = make_rank(0, [("allReduce", 10, 20), ("allReduce", 48, 12)], communication=32, more=two)
    assert {one.key for one in judged(together(late, other), "PRF352")} == {"PRF352.seen", "PRF352.in_turn"}


def test_the_rival_is_whom_the_rank_waits_for_longest_beside_the_one_blamed() -> None:
    """Late by 20 ms rank 3, by 10 rank 1, by 5 rank 2; whichever waits for 3, its rival has 10."""
    late = {(0, 3): 20, (1, 1): 10, (2, 2): 5}
    times = {r: [(at, late.get((at, r), 0)) for at in range(3)] for r in range(4)}
    calls = {r: [("allReduce", 10 + 30 * at + by, 21 - by) for at, by in of] for r, of in times.items()}
    four = {"world_size": 4, "sizes": {"g": 4}}
    cluster = together(*(make_rank(r, calls[r], communication=63, more=four) for r in range(4)))
    blames = [blame for blame in cluster.find_blames() if blame.who == 3]
    assert blames and {_rival_ms(cluster, blame) for blame in blames} == {10.0}


def test_whom_a_rank_waits_for_in_words() -> None:
    """A rank by its number; one outside by the number in its group; nobody."""
    cluster = SimpleNamespace(waits=SimpleNamespace(unmapped=[("g", 5), ("h", 7)]))
    for who, said, short in (
        (NOBODY, Sentence("ranks.nobody"), None),
        (3, Sentence("ranks.rank", number=3), 3),
        (0, Sentence("ranks.rank", number=0), 0),
        (FIRST_UNMAPPED, Sentence("ranks.of_its_group", number=5), Sentence("ranks.of_its_group", number=5)),
        (FIRST_UNMAPPED - 1, Sentence("ranks.of_its_group", number=7), Sentence("ranks.of_its_group", number=7)),
    ):
        assert name_waited_rank(cluster, who) == said  # type: ignore[arg-type]
        assert short_rank_name(cluster, who) == short  # type: ignore[arg-type]


def test_how_far_clocks_are_apart_is_told_in_tenths_of_a_microsecond() -> None:
    clock = SimpleNamespace(of=0, ahead_ns=1_234_567, spread_ns=12_345, shared=6)
    cluster = SimpleNamespace(clocks={0: SimpleNamespace(of=0), 1: clock}, ranks={0: 0, 1: 1})
    for shifted_clocks, args in (
        ({1: clock}, {"rank": 1, "of": 0, "ahead_ms": 1.235, "spread_us": 12.3, "shared": 6}),
        ({}, {"most_us": 1234.6, "ranks": 2}),
    ):
        cluster.shifted_clocks = lambda clocks=shifted_clocks: clocks
        (found,) = check_clocks(cluster)  # type: ignore[arg-type]
        assert found.args == args
