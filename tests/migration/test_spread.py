"""spread: the same results in the same order as a plain loop, whatever becomes of the children."""

from __future__ import annotations

import multiprocessing
import os
import time

import pytest

from ascend_workbook.migration.spread import CHUNK, MOST_CHUNKS, spread_work


@pytest.mark.parametrize("count", [0, 1, CHUNK, 3 * CHUNK + 7])
@pytest.mark.parametrize("children", [1, 2, 3])
def test_results_come_in_order(count: int, children: int) -> None:
    assert spread_work(lambda number: (number, "显卡" * number), range(count), children=children) == [
        (number, "显卡" * number) for number in range(count)
    ]


def test_the_work_is_done_in_children_and_large_results_pass() -> None:
    def work(number: int) -> tuple[int, bytes]:
        time.sleep(0.002)  # else the first child may have done all before the second is there
        return os.getpid(), b"x" * 100_000

    found = spread_work(work, range(3 * CHUNK), children=2)
    assert len({pid for pid, _ in found}) == 2 and os.getpid() not in {pid for pid, _ in found}


def test_a_child_that_is_done_takes_what_is_left() -> None:
    done = multiprocessing.Value("i", 0)
    ends = time.monotonic() + 20  # where each child has its share beforehand, the other never does so many

    def work(number: int) -> int:
        while number == 0 and done.value < 4 * CHUNK and time.monotonic() < ends:
            time.sleep(0.01)
        with done.get_lock():
            done.value += 1
        return os.getpid()

    pids = spread_work(work, range(6 * CHUNK), children=2)
    assert pids.count(pids[0]) <= 2 * CHUNK, "the slow child took as many as the other"


def test_more_chunks_than_the_queue_takes_are_larger_ones() -> None:
    count = CHUNK * MOST_CHUNKS + 1
    assert spread_work(abs, range(count), children=2) == list(range(count))


def test_what_a_dead_child_did_not_send_is_done_here() -> None:
    parent = os.getpid()

    def work(number: int) -> int:
        if os.getpid() != parent and number == CHUNK + 3:
            os._exit(9)
        return number

    assert spread_work(work, range(4 * CHUNK), children=2) == list(range(4 * CHUNK))


def test_an_error_of_the_work_is_raised_here() -> None:
    def work(number: int) -> int:
        return 1 // number

    with pytest.raises(ZeroDivisionError):
        spread_work(work, range(2 * CHUNK), children=2)
