"""What is taken ahead comes whole, in order, with its error; nobody takes more after a stop."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from ascend_workbook.batch.campaign.run import iterate_ahead
from ascend_workbook.findings.errors import WorkbookError


def numbers(stop: threading.Event, made: list[int]) -> Iterator[int]:
    for number in range(1000):
        if stop.is_set():
            return
        made.append(number)
        yield number
        if number == 5:
            stop.wait(20)


def test_it_goes_on_while_one_is_used() -> None:
    stop, made = threading.Event(), []  # type: ignore[var-annotated]
    found = iterate_ahead(numbers(stop, made), stop.set)
    assert next(found) == 0
    while len(made) < 6:  # without anybody asking
        pass
    found.close()  # type: ignore[attr-defined]
    assert stop.is_set() and len(made) == 6


def test_an_error_comes_after_what_came_before_it() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise WorkbookError("plan.no_time")

    found = iterate_ahead(broken(), lambda: None)
    assert next(found) == 1
    with pytest.raises(WorkbookError):
        next(found)
