"""A result is reused only where the plan demands of it what it demanded then."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import pytest

from ascend_workbook.batch import reuse
from ascend_workbook.batch.campaign import conduct
from ascend_workbook.batch.campaign.cards import Here
from ascend_workbook.batch.campaign.conduct import end_at_once
from ascend_workbook.batch.campaign.ended import GOOD, TIMED_OUT, Ended, load_ended, save_ended
from ascend_workbook.batch.campaign.local import Pool
from ascend_workbook.batch.campaign.order import Order
from ascend_workbook.batch.campaign.progress import Progress, Quota
from tests.batch.campaign.conftest import item


@pytest.fixture
def order(notebooks: Callable[..., Path], tmp_path: Path) -> Order:
    """Of a run that was good, as its folder says."""
    books = notebooks(environment="good")
    order = Order(item("a", require="cpu"), str(tmp_path), str(books), "start", here=Here("cpu", 1, {"tier": "cpu"}))
    order.folder.mkdir()
    (order.folder / "report.json").write_text("{}")
    stage = order.folder / "environment"
    stage.mkdir()
    reuse.forget_reads(stage)
    reuse.keep_dependencies(stage, conduct._key_parts(order, conduct._find_device(order))["environment"])
    return order


@pytest.mark.parametrize(
    "change, same",
    [({}, True), ({"tags": ("x",)}, True), ({"require": ""}, False), ({"cards": 2}, False)],
)
def test_what_the_plan_demands_is_part_of_the_key(order: Order, change: dict[str, Any], same: bool) -> None:
    assert order.here
    save_ended(order.folder, Ended("a", GOOD, "Good", key=conduct._compute_key(order, order.here)))
    early = end_at_once(replace(order, item=replace(order.item, **change)))
    assert (early is not None and early.reused) == same


@pytest.mark.parametrize("limit_mb, same", [(0, True), (500, True), (499, False)])
def test_what_held_more_memory_than_it_may_now_is_run_again(order: Order, limit_mb: int, same: bool) -> None:
    assert order.here
    save_ended(order.folder, Ended("a", GOOD, "Good", key=conduct._compute_key(order, order.here), peak_mb=500))
    early = end_at_once(replace(order, item=replace(order.item, memory_mb=limit_mb)))
    assert (early is not None and early.reused) == same


def test_a_run_for_which_no_time_is_left_keeps_no_older_good(order: Order, tmp_path: Path) -> None:
    save_ended(order.folder, Ended("a", GOOD, "Good", key="older"))
    pool = Pool(1, Progress(tmp_path, 1, "en", print), stop=threading.Event(), quota=Quota(tmp_path, 0))
    ends = list(pool.run_orders([replace(order, until=1.0)]))
    kept = load_ended(order.folder)
    assert [one.state for one in ends] == [TIMED_OUT] and kept is not None and kept.state == TIMED_OUT
