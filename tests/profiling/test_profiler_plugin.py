"""What a step before the recording took, without what the machine gave to others meanwhile."""

from __future__ import annotations

import time

from ascend_workbook.profiling.child.profiler_plugin import Usage, find_waited, read_usage


def test_what_the_thread_and_the_one_that_it_rests_for_waited_is_told() -> None:
    begun = Usage(0, 0, 100, {"1": (0, 10), "2": (50, 0)})
    ended = Usage(1_000, 500, 300, {"1": (100, 160), "2": (60, 290), "3": (900, 900)})
    assert find_waited(begun, ended) == 200 + 150, "of a thread that is new nothing is known"
    busy = ended._replace(ran_ns=680)
    assert find_waited(begun, busy) == 200 + 20, "no longer than the thread rested and the other did not run"


def test_a_thread_that_runs_is_told_from_one_that_rests() -> None:
    begun = read_usage()
    time.sleep(0.05)
    ended = read_usage()
    assert ended.at_ns - begun.at_ns >= 50_000_000 > ended.ran_ns - begun.ran_ns
    assert find_waited(begun, ended) >= 0
