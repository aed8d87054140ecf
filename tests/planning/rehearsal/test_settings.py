"""What a rehearsal may be asked."""

from __future__ import annotations

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.planning.card import GIB
from ascend_workbook.planning.rehearsal.settings import (
    DISTINCT,
    choose_ranks,
    make_cluster,
)


def test_cards_stand_in_as_few_nodes_as_can_be() -> None:
    cluster = make_cluster("910B3", 64, None, None)
    assert (cluster.nodes, cluster.node_cards) == (8, 8)
    assert make_cluster("910B3", 4, None, None).nodes == 1
    assert make_cluster("910B3", 4, 2, None).node_cards == 2


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (None, 60.97),
        ("64GB", 60.97),
        ("64 gb", 60.97),
        ("32GB", 30.485),
        ("60GiB", 60),
        ("61440MiB", 60),
        ("4096m", 4),
    ],
)
def test_memory_as_pytorch_sees_it(given: str | None, seen: float) -> None:
    assert make_cluster("910B3", 1, None, given).memory == pytest.approx(seen * GIB, rel=1e-6)


@pytest.mark.parametrize("given", ["", "much", "-1GB", "0GB", "64XB", "nan", "1GB", "512m"])
def test_no_size_is_refused(given: str) -> None:
    with pytest.raises(WorkbookError, match="64GB"):
        make_cluster("910B3", 1, None, given)


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(WorkbookError, match="3 nodes"):
        make_cluster("910B3", 8, 3, None)
    with pytest.raises(WorkbookError, match="910B3"):
        make_cluster("H100", 8, None, None)
    with pytest.raises(WorkbookError):
        make_cluster("910B3", 0, None, None)


def test_ranks() -> None:
    assert choose_ranks("all", 3) == (0, 1, 2)
    assert choose_ranks("0,2-3", 4) == (0, 2, 3)
    assert choose_ranks([5, 5], 8) == (5,)
    assert choose_ranks(DISTINCT, 8) == DISTINCT and choose_ranks(DISTINCT, 1) == (0,)
    with pytest.raises(WorkbookError, match=r"0 to 4"):
        choose_ranks("4", 4)
