"""What a card leaves to PyTorch, for a rehearsal and for a plan alike."""

from __future__ import annotations

import pytest

from ascend_workbook.estimates.chips import find_chip
from ascend_workbook.planning.card import GIB, outside_bytes, parse_memory, seen_bytes
from ascend_workbook.planning.strategy.choice import Strategy
from ascend_workbook.planning.strategy.memory import estimate_outside
from ascend_workbook.planning.strategy.verb import plan


@pytest.mark.parametrize(
    ("given", "sold", "seen"),
    [(None, 64, 60.97), ("32GB", 32, 30.485), ("64", 64, 60.97), ("60GiB", 62.98, 60), ("4096m", 4.2, 4)],
)
def test_a_size_is_as_sold_or_as_pytorch_sees_it(given: str | None, sold: float, seen: float) -> None:
    size = parse_memory(given, find_chip("910B3"))
    assert size == pytest.approx(sold * GIB, rel=1e-3) and seen_bytes(size) == pytest.approx(seen * GIB, abs=1)


def test_a_plan_takes_the_size_that_pytorch_sees_as_it_is() -> None:
    facts = plan("llama-7b", cards=8, memory="60GiB").facts["plan"]
    assert facts["usable_bytes"] == 60 * GIB


def test_a_plan_has_outside_what_a_rehearsal_has() -> None:
    strategies = Strategy(), Strategy(tensor=8, pipeline=2, context=2, expert=2, data=4)
    for strategy, groups in zip(strategies, (0, 5)):
        outside = estimate_outside(strategy)
        assert (outside.low, outside.high) == outside_bytes(groups)


def test_groups_take_buffers_outside() -> None:
    low, high = outside_bytes(0)
    assert low == int(0.55 * GIB) and high == int(1.8 * GIB)
    assert outside_bytes(10)[1] == low + 10 * 400 * 2**20 > high
