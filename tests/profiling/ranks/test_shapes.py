"""A rank that computes more because it is given more, and one that does more."""

from __future__ import annotations

from typing import Any

import pytest

from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.ranks.causes import find_rank_causes
from ascend_workbook.profiling.ranks.shapes import are_given_more, count_elements, count_shapes
from ascend_workbook.profiling.trace import Event, build_trace
from tests.profiling.conftest import US, step
from tests.profiling.ranks.conftest import judged, make_rank, together

SMALL = {"aten::mm | [64,16] [16,8]": 10.0, "aten::add | [64,8]": 10.0}
LARGE = {"aten::mm | [1024,16] [16,8]": 10.0, "aten::add | [1024,8]": 10.0}


@pytest.mark.parametrize(
    ("mine", "others", "expected"),
    [
        (LARGE, SMALL, True),
        (SMALL, LARGE, False),
        (SMALL, SMALL, False),
        ({**LARGE, "aten::mm | [64,16] [16,8]": 6.0}, SMALL, False),  # and calls more
        ({"aten::conv2d | [1024,16]": 20.0}, SMALL, False),  # other operators
        ({}, SMALL, False),
    ],
)
def test_given_more(mine: dict[str, float], others: dict[str, float], expected: bool) -> None:
    assert are_given_more(mine, others) is expected


def test_elements() -> None:
    assert count_elements("aten::mm | [64,16] [16,8]") == 1024
    assert count_elements("aten::mm | ") == 0


def test_counted_a_step() -> None:
    events = [step(0, 0, 100_000), step(1, 100_000, 100_000)]
    for at in (0, 100_000):
        events += [Event("aten::mm", "host_op", "1/1", (at + 10 * n) * US, 5 * US, "[8,8]") for n in range(3)]
        events.append(Event("aten::view", "host_op", "1/1", (at + 50) * US, US))
    profile = Profile.from_trace(build_trace(events, source="made", dialect="kineto"), {"tier": "cpu"})
    assert count_shapes(profile) == {"aten::mm | [8,8]": 3.0}


@pytest.mark.parametrize(("shapes", "kind"), [(LARGE, "shapes_differ"), (SMALL, "rank_computing")])
def test_the_rank_that_is_waited_for(shapes: dict[str, float], kind: str) -> None:
    calls = {0: [("allReduce", 20, 70)], 1: [("allReduce", 80, 10)], 2: [("allReduce", 20, 70)]}
    more: dict[int, Any] = {0: {"shapes": SMALL}, 1: {"shapes": shapes}, 2: {"shapes": SMALL}}
    ranks = [
        make_rank(
            rank,
            calls[rank],
            steps=5,
            computing=80 if rank == 1 else 20,
            communication=10 if rank == 1 else 70,
            more=more[rank],
        )
        for rank in (0, 1, 2)
    ]
    cluster = together(*ranks)
    findings = [one for code in ("PRF353", "PRF354") for one in judged(cluster, code)]
    (first, *_) = find_rank_causes(cluster, findings, {})
    assert first["kind"] == kind
