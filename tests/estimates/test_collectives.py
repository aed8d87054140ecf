"""Collectives within a node, by hand; between nodes a wide range."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_workbook.estimates.basis import load_basis
from ascend_workbook.estimates.chips import find_chip
from ascend_workbook.estimates.collectives import ROUNDS, estimate_collective
from ascend_workbook.findings.errors import WorkbookError

CHIP = find_chip("910B2")
SPEED = 28e9 * load_basis().about["links"]["part"]


def test_an_allreduce_of_eight_uses_all_links_at_once() -> None:
    # each card sends an eighth of 151 MB to each other, twice
    told = estimate_collective("hcom_allReduce_", 151e6, 8, 1, CHIP)
    assert told.middle == pytest.approx(17.0 + 2 * 151e6 / 8 / SPEED * 1e6)
    assert told.low < 2395 < told.high, "AlexNet's, measured where nothing waited"


def test_two_ranks_have_one_link() -> None:
    assert estimate_collective("allgather", 311e6, 2, 1, CHIP).middle == pytest.approx(17.0 + 155.5e6 / SPEED * 1e6)
    assert estimate_collective("send", 8.4e6, 2, 1, CHIP).middle == pytest.approx(17.0 + 8.4e6 / SPEED * 1e6)


def test_one_rank_has_nobody_to_talk_to() -> None:
    assert estimate_collective("allreduce", 1e9, 1, 1, CHIP).high == 0


def test_between_nodes_the_range_is_wide() -> None:
    told = estimate_collective("allreduce", 1e9, 16, 2, CHIP)
    assert told.high / told.low > 4 and told.low > estimate_collective("allreduce", 1e9, 8, 1, CHIP).low


def test_the_range_within_a_node_is_what_was_measured_of_it() -> None:
    links, told = load_basis().about["links"], estimate_collective("broadcast", 1e8, 4, 1, CHIP)
    assert (told.low, told.high) == pytest.approx((told.middle * links["low"], told.middle * links["high"]))


def test_between_nodes_by_hand() -> None:
    inside = estimate_collective("allreduce", 1e9, 8, 1, CHIP)
    told = estimate_collective("allreduce", 1e9, 16, 2, CHIP)
    # twice 1 GB, half of it to the other node, shared out among eight cards; at worst one line carries 15 sixteenths
    shared, whole = 2e9 / 2 / 8, 2e9 * 15 / 16
    assert told.low == pytest.approx(inside.low + 20 + shared / 25e9 * 1e6)
    assert told.middle == pytest.approx(inside.middle + 40 + shared / 12.5e9 * 1e6)
    assert told.high == pytest.approx(inside.high + 2 * 150 + whole / 6e9 * 1e6)
    apart, within = (estimate_collective("alltoall", 1e9, ranks, ranks // 8, CHIP) for ranks in (16, 8))
    assert apart.middle == pytest.approx(within.middle + 40 + 1e9 / 2 / 12.5e9 * 1e6), "nothing is shared out"


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(WorkbookError) as told:
        estimate_collective("gossip", 1, 2, 1, CHIP)
    assert "gossip" in told.value.message("en")


@given(st.sampled_from(sorted(ROUNDS)), st.floats(0, 1e12), st.integers(2, 8), st.integers(1, 64), st.floats(1.0, 8.0))
def test_more_bytes_never_take_less(kind: str, size: float, cards: int, nodes: int, factor: float) -> None:
    less = estimate_collective(kind, size, cards * nodes, nodes, CHIP)
    more = estimate_collective(kind, size * factor, cards * nodes, nodes, CHIP)
    assert less.low <= less.middle <= less.high
    assert more.low >= less.low and more.middle >= less.middle and more.high >= less.high
