"""Ranks of steps of 100 ms, so that a millisecond is a percent."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ascend_workbook.profiling.ranks.cluster import Cluster
from ascend_workbook.profiling.ranks.facts import Link, Packets, RankFacts
from ascend_workbook.profiling.trace import Looked
from tests.profiling.ranks.conftest import MS, make_rank, together
from tests.profiling.ranks.test_rules import linked, own, pipeline
from tests.profiling.ranks.test_waiting import three, told
from tests.rules.lines import Example

LOOKED = Looked(3, 5, 40, 2.5e6, 17, 9_000_000)
CALLS = [("allReduce", 10, 30), ("allGather", 50, 10), ("allReduce", 70, 10), ("allReduce", 85, 10)]
ALIKE = {"sizes": {"g": 8}}


def of(*ranks: RankFacts) -> Callable[[], Cluster]:
    return lambda: together(*ranks)


def owning(*ms: float, **more: Any) -> Callable[[], Cluster]:
    """Ranks that need so long for themselves; the rest of 100 ms they wait."""
    return of(*(own(rank, one, **more) for rank, one in enumerate(ms)))


def ahead(ms: float) -> Callable[[], Cluster]:
    """Two ranks of which the second's clock is so far ahead."""
    return of(make_rank(0, CALLS, steps=3), make_rank(1, CALLS, steps=3, ahead_ms=ms))


def waiting(bubble_ms: float, **changed: Any) -> Callable[[], Cluster]:
    """A pipeline of two stages whose ranks all wait so long for the other stage."""
    ranks = [
        dataclasses.replace(
            one, steps=tuple(dataclasses.replace(at, bubble_ns=round(bubble_ms * MS)) for at in one.steps)
        )
        for one in pipeline(30, 30)
    ]
    return of(*ranks)


def sending(small_ms: float, exposed_ms: float = 60, **more: Any) -> Callable[[], Cluster]:
    """100 packets of 0.1 MB in so many ms beside one of 20 MB in 1 ms."""
    packets = (Packets("HCCS", 0.1, 100, small_ms), Packets("HCCS", 20.0, 1, 1.0), Packets("SDMA", 5.0, 1, 0.1))
    return of(make_rank(0, [("allReduce", 10, 60)], communication=exposed_ms, more={"packets": packets}))


def sent(*packets: Packets) -> Callable[[], Cluster]:
    """One rank that sent these."""
    return of(make_rank(0, [("allReduce", 10, 60)], more={"packets": packets}))


def arriving(*starts: float, end: float = 42, **more: Any) -> Callable[[], Cluster]:
    """Ranks that come to one collective at these times and leave it together."""
    calls = [[("allReduce", start, end - start)] for start in starts]
    return of(*(make_rank(at, one, communication=end - starts[at], more=more) for at, one in enumerate(calls)))


def turns() -> Cluster:
    """Two ranks that are late in turns, 30 ms and 25 ms."""
    first = [("allReduce", 0, 32), ("allReduce", 60, 2)]
    second = [("allReduce", 30, 2), ("allReduce", 35, 27)]
    return together(
        *(make_rank(at, calls, communication=35, more={"sizes": {"g": 2}}) for at, calls in enumerate((first, second)))
    )


EXAMPLES: list[Example] = [
    ("PRF351", ahead(0), ["GOOD PRF351.agree most_us=0 ranks=2"]),
    ("PRF351", ahead(0.9), ["GOOD PRF351.agree most_us=900 ranks=2"]),
    ("PRF351", ahead(7.25), ["NOTE PRF351.apart ahead_ms=7.25 of=0 rank=1 shared=12 spread_us=0"]),
    ("PRF351", ahead(-7.25), ["NOTE PRF351.apart ahead_ms=-7.25 of=0 rank=1 shared=12 spread_us=0"]),
    ("PRF351", of(make_rank(0)), []),
    (
        "PRF352",
        of(*three()),
        [
            (
                "LOOK PRF352.seen calls=1 gain_ms=25 rank=0 share=25 times=1 wait_ms=30 "
                "waited=ranks.rank(number=2) waited_rank=2 whole_ms=32 weight=25"
            )
        ],
    ),
    (
        "PRF352",
        arriving(37, 40, sizes={"g": 2}),
        [
            (
                "NOTE PRF352.seen calls=1 gain_ms=3 rank=0 share=3 times=1 wait_ms=3 waited=ranks.rank(number=1) "
                "waited_rank=1 whole_ms=5 weight=3"
            )
        ],
    ),
    ("PRF352", arriving(37.1, 40, sizes={"g": 2}), ["GOOD PRF352.short wait_ms=2.9"]),
    (
        "PRF352",
        arriving(30, 40, sizes={"g": 2}),
        [
            (
                "LOOK PRF352.seen calls=1 gain_ms=10 rank=0 share=10 times=1 wait_ms=10 "
                "waited=ranks.rank(number=1) waited_rank=1 whole_ms=12 weight=10"
            )
        ],
    ),
    (
        "PRF352",
        arriving(30.1, 40, sizes={"g": 2}),
        [
            (
                "NOTE PRF352.seen calls=1 gain_ms=9.9 rank=0 share=9.9 times=1 wait_ms=9.9 "
                "waited=ranks.rank(number=1) waited_rank=1 whole_ms=11.9 weight=9.9"
            )
        ],
    ),
    (
        "PRF352",
        turns,
        [
            (
                "LOOK PRF352.in_turn calls=2 gain_ms=30 rank=0 share=30 times=1 wait_ms=30 "
                "waited=ranks.rank(number=1) waited_rank=None whole_ms=34 weight=30"
            ),
            (
                "LOOK PRF352.in_turn calls=2 gain_ms=25 rank=1 share=25 times=1 wait_ms=25 "
                "waited=ranks.rank(number=0) waited_rank=None whole_ms=29 weight=25"
            ),
        ],
    ),
    (
        "PRF352",
        arriving(10, 10, end=50),
        ["NOT_LOOKED PRF352.unseen_members rest_ms=40", "GOOD PRF352.short wait_ms=0"],
    ),
    (
        "PRF352",
        of(
            told(make_rank(0, [("allReduce", 5, 80)], communication=80), 78, 5, 5, own_number={"g": 0}, **ALIKE),
            told(make_rank(1, [("allReduce", 10, 75)], communication=75), 73, 5, 1, own_number={"g": 1}, **ALIKE),
        ),
        [
            (
                "LOOK PRF352.unseen calls=1 gain_ms=73 rank=0 share=73 times=1 wait_ms=78 "
                "waited=ranks.rank(number=5) waited_rank=5 whole_ms=80 weight=73"
            )
        ],
    ),
    (
        "PRF352",
        of(told(make_rank(0, [("allReduce", 5, 80)], communication=80), 78, 5, 5, own_number={"g": 0}, **ALIKE)),
        [
            (
                "LOOK PRF352.unseen calls=1 gain_ms=73 rank=0 share=73 times=1 wait_ms=78 "
                "waited=ranks.of_its_group(number=5) waited_rank=None whole_ms=80 weight=73"
            )
        ],
    ),
    (
        "PRF352",
        of(*pipeline(30, 30)),
        ["NOT_LOOKED PRF352.unseen_members rest_ms=25", "GOOD PRF352.short_in_stage wait_ms=0"],
    ),
    ("PRF352", of(make_rank(0), make_rank(1)), ["GOOD PRF352.none"]),
    ("PRF352", of(make_rank(0, [("allReduce", 10, 40)])), ["CANNOT PRF352.alone"]),
    (
        "PRF352",
        of(*(make_rank(at, [("allReduce", 10, 40)], group=f"g{at}") for at in range(2))),
        ["CANNOT PRF352.unmatched"],
    ),
    (
        "PRF353",
        owning(90, 30),
        [
            (
                "LOOK PRF353.slow fastest_ms=60 gain_ms=60 others_ms=30 own_ms=90 part=ranks.part.free() "
                "part_ms=60 rank=0 share=60 todo=ranks.todo.free() weight=60"
            )
        ],
    ),
    (
        "PRF353",
        owning(33, 30),
        [
            (
                "NOTE PRF353.slow fastest_ms=3 gain_ms=3 others_ms=30 own_ms=33 part=ranks.part.free() part_ms=3 "
                "rank=0 share=3 todo=ranks.todo.free() weight=3"
            )
        ],
    ),
    ("PRF353", owning(32.9, 30), ["GOOD PRF353.alike least_ms=30 most_ms=32.9 stage=None"]),
    (
        "PRF353",
        owning(40, 30),
        [
            (
                "LOOK PRF353.slow fastest_ms=10 gain_ms=10 others_ms=30 own_ms=40 part=ranks.part.free() "
                "part_ms=10 rank=0 share=10 todo=ranks.todo.free() weight=10"
            )
        ],
    ),
    (
        "PRF353",
        owning(39.9, 30),
        [
            (
                "NOTE PRF353.slow fastest_ms=9.9 gain_ms=9.9 others_ms=30 own_ms=39.9 part=ranks.part.free() "
                "part_ms=9.9 rank=0 share=9.9 todo=ranks.todo.free() weight=9.9"
            )
        ],
    ),
    (
        "PRF353",
        owning(90, 30, 40, part="loading"),
        [
            (
                "LOOK PRF353.slow fastest_ms=60 gain_ms=55 others_ms=35 own_ms=90 part=ranks.part.loading() "
                "part_ms=55 rank=0 share=55 todo=ranks.todo.loading() weight=55"
            )
        ],
    ),
    ("PRF353", owning(60, 30, 40, 50), ["GOOD PRF353.alike least_ms=30 most_ms=60 stage=None"]),
    (
        "PRF353",
        owning(71, 30, 40, 50),
        [
            (
                "LOOK PRF353.slow fastest_ms=41 gain_ms=31 others_ms=40 own_ms=71 part=ranks.part.free() "
                "part_ms=31 rank=0 share=31 todo=ranks.todo.free() weight=31"
            )
        ],
    ),
    ("PRF353", of(*pipeline(23, 40)), ["GOOD PRF353.alike_in_stages least_ms=33 most_ms=33 stage=0"]),
    ("PRF353", of(own(0, 50)), ["CANNOT PRF353.one"]),
    (
        "PRF353",
        of(
            make_rank(0, steps=5, communication=20),
            make_rank(1, steps=5, communication=20, jitter=(0, 60, 0, 0, 0)),
        ),
        ["GOOD PRF353.alike least_ms=80 most_ms=92 stage=None"],
    ),
    (
        "PRF353",
        of(
            make_rank(0, steps=5, communication=20),
            make_rank(1, steps=5, communication=20, jitter=(12, 13, 11, 12, 14)),
        ),
        [
            (
                "LOOK PRF353.slow fastest_ms=12.4 gain_ms=12.4 others_ms=80 own_ms=92.4 part=ranks.part.free() "
                "part_ms=12.4 rank=1 share=11.7 todo=ranks.todo.free() weight=11.6761"
            )
        ],
    ),
    (
        "PRF353",
        of(*(dataclasses.replace(own(at, ms), simulated=True) for at, ms in enumerate((90, 30)))),
        [
            (
                "NOTE PRF353.slow fastest_ms=60 gain_ms=60 others_ms=30 own_ms=90 part=ranks.part.free() "
                "part_ms=60 rank=0 share=60 todo=ranks.todo.free() weight=60"
            )
        ],
    ),
    (
        "PRF354",
        of(*pipeline(23, 40)),
        [
            (
                "NOTE PRF354.uneven fastest=0 gain_ms=8.5 least_ms=23 mean_ms=31.5 most_ms=40 ranks=[2, 3] "
                "share=8.5 stage=1 times=1.74 weight=8.5"
            )
        ],
    ),
    (
        "PRF354",
        of(*pipeline(30, 36)),
        [
            (
                "NOTE PRF354.uneven fastest=0 gain_ms=3 least_ms=30 mean_ms=33 most_ms=36 ranks=[2, 3] share=3 "
                "stage=1 times=1.2 weight=3"
            )
        ],
    ),
    (
        "PRF354",
        of(*pipeline(30, 35.8)),
        ["GOOD PRF354.even fastest=0 least_ms=30 mean_ms=32.9 most_ms=35.8 ranks=[2, 3] stage=1 times=1.19"],
    ),
    (
        "PRF354",
        of(*pipeline(0, 40)),
        [
            (
                "LOOK PRF354.uneven fastest=0 gain_ms=20 least_ms=0 mean_ms=20 most_ms=40 ranks=[2, 3] share=20 "
                "stage=1 times=None weight=20"
            )
        ],
    ),
    ("PRF354", of(own(0, 50), own(1, 50)), []),
    ("PRF355", waiting(40), ["NOTE PRF355.bubbles longest_ms=40 longest_share=40 mean_ms=40 rank=0 share=40 stages=2"]),
    ("PRF355", waiting(3), ["NOTE PRF355.bubbles longest_ms=3 longest_share=3 mean_ms=3 rank=0 share=3 stages=2"]),
    (
        "PRF355",
        waiting(2.9),
        ["GOOD PRF355.short longest_ms=2.9 longest_share=2.9 mean_ms=2.9 rank=0 share=2.9 stages=2"],
    ),
    ("PRF355", of(own(0, 50), own(1, 50)), []),
    (
        "PRF356",
        of(linked(20, 20, 10, 20)),
        [
            (
                "NOTE PRF356.slow gain_ms=5 gb_per_s=10 links=3 operation=allreduce share=5 target=3 "
                "transport=HCCS usual=20 weight=5"
            )
        ],
    ),
    ("PRF356", of(linked(20, 20, 16, 20)), ["GOOD PRF356.alike links=4"]),
    (
        "PRF356",
        of(linked(20, 20, 15.9, 20)),
        [
            (
                "NOTE PRF356.slow gain_ms=1.289 gb_per_s=15.9 links=3 operation=allreduce share=1.3 target=3 "
                "transport=HCCS usual=20 weight=1.28931"
            )
        ],
    ),
    ("PRF356", of(linked(20, 10)), ["CANNOT PRF356.no_others links=2"]),
    (
        "PRF356",
        of(
            make_rank(
                0,
                [("allReduce", 10, 60)],
                communication=60,
                more={
                    "links": tuple(Link("g", "allreduce", 0, to, "HCCS", 0.9, 0.9) for to in (1, 2, 3)),
                    "sizes": {"g": 8},
                },
            )
        ),
        [],
    ),
    ("PRF356", of(own(0, 50)), []),
    (
        "PRF357",
        sending(9.0),
        [
            (
                "LOOK PRF357.small best=20 best_mb=20 gain_ms=51 gb_per_s=3 rank=0 share=51 transport=HCCS "
                "typical_mb=0.1 weight=51"
            )
        ],
    ),
    (
        "PRF357",
        sending(9.0, 30),
        [
            (
                "LOOK PRF357.small best=20 best_mb=20 gain_ms=25.5 gb_per_s=3 rank=0 share=25.5 transport=HCCS "
                "typical_mb=0.1 weight=25.5"
            )
        ],
    ),
    (
        "PRF357",
        sending(0.57),
        ["GOOD PRF357.fine best=20 best_mb=20 gb_per_s=19.11 rank=0 transport=HCCS typical_mb=20"],
    ),
    (
        "PRF357",
        sending(0.58),
        [
            (
                "NOTE PRF357.small best=20 best_mb=20 gain_ms=3.038 gb_per_s=18.99 rank=0 share=3 transport=HCCS "
                "typical_mb=20 weight=3.03797"
            )
        ],
    ),
    ("PRF357", of(own(0, 50)), []),
    (
        "PRF349",
        sent(Packets("HCCS", 1.937312, 2, 3.0), Packets("HCCS", 2.064384, 12, 7.0), Packets("RDMA", 0.1, 1, 99.0)),
        ["NOTE PRF349.uneven block=512 of=14 pieces=2 rank=0 share=30"],
    ),
    (
        "PRF349",
        sent(Packets("HCCS", 1.937312, 2, 2.0), Packets("SDMA", 2.064384, 12, 8.0)),
        ["GOOD PRF349.even block=512 of=14 pieces=2 rank=0 share=20"],
    ),
    ("PRF349", sent(Packets("RDMA", 0.1, 1, 99.0)), []),
    (
        "PRF359",
        sent(Packets("RDMA", 1.0, 2, 8000.0), Packets("RDMA", 2.0, 3, 9.0)),
        ["LOOK PRF359.again packets=2 rank=0 seconds=4"],
    ),
    (
        "PRF359",
        sent(Packets("RDMA", 1.0, 2, 7999.0), Packets("HCCS", 1.0, 1, 9000.0)),
        ["GOOD PRF359.once packets=2 rank=0 seconds=3.999"],
    ),
    ("PRF359", sent(Packets("HCCS", 1.0, 1, 9000.0)), []),
    ("PRF358", of(own(0, 50)), []),
    (
        "PRF358",
        of(*(dataclasses.replace(own(at, 50), looked=LOOKED) for at in range(3))),
        ["NOTE PRF358.some first=3 last=5 ranks=0-2 steps=40"],
    ),
    (
        "PRF358",
        of(dataclasses.replace(own(1, 50), looked=dataclasses.replace(LOOKED, behind=True))),
        ["NOTE PRF358.some first=3 last=5 ranks=1 steps=40", "LOOK PRF358.behind ranks=1"],
    ),
    (
        "PRF353",
        of(make_rank(0, steps=3, communication=20), make_rank(1, steps=3, communication=20, jitter=(0, 10, 60))),
        ["GOOD PRF353.alike least_ms=80 most_ms=103.333 stage=None"],
    ),
    (
        "PRF353",
        of(make_rank(0, steps=3, communication=20), make_rank(1, steps=3, communication=20, jitter=(9, 10, 60))),
        [
            (
                "LOOK PRF353.slow fastest_ms=26.333 gain_ms=26.333 others_ms=80 own_ms=106.333 "
                "part=ranks.part.free() part_ms=26.333 rank=1 share=23.3 todo=ranks.todo.free() weight=23.2695"
            )
        ],
    ),
    ("PRF351", ahead(0.98765), ["GOOD PRF351.agree most_us=987.6 ranks=2"]),
    (
        "PRF352",
        of(told(make_rank(0, [("allReduce", 5, 80)], communication=80), 0, 5, 0, own_number={"g": 0}, **ALIKE)),
        ["GOOD PRF352.short wait_ms=0"],
    ),
]
