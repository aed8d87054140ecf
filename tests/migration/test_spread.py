"""spread: the same results in the same order as a plain loop, whatever becomes of the children."""

from __future__ import annotations

import os

import pytest

from helpers.migration.spread import CHUNK, spread


@pytest.mark.parametrize("count", [0, 1, CHUNK, 3 * CHUNK + 7])
@pytest.mark.parametrize("children", [1, 2, 3])
def test_results_come_in_order(count: int, children: int) -> None:
    assert spread(lambda number: (number, "显卡" * number), range(count), children=children) == [
        (number, "显卡" * number) for number in range(count)
    ]


def test_the_work_is_done_in_children_and_large_results_pass() -> None:
    found = spread(lambda number: (os.getpid(), b"x" * 100_000), range(3 * CHUNK), children=2)
    assert len({pid for pid, _ in found}) == 2 and os.getpid() not in {pid for pid, _ in found}


def test_what_a_dead_child_did_not_send_is_done_here() -> None:
    parent = os.getpid()

    def work(number: int) -> int:
        if os.getpid() != parent and number == CHUNK + 3:
            os._exit(9)
        return number

    assert spread(work, range(4 * CHUNK), children=2) == list(range(4 * CHUNK))


def test_an_error_of_the_work_is_raised_here() -> None:
    def work(number: int) -> int:
        return 1 // number

    with pytest.raises(ZeroDivisionError):
        spread(work, range(2 * CHUNK), children=2)
