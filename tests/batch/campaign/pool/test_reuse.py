"""A result is reused only where the plan demands of it what it demanded then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import pytest

from helpers.batch.campaign.ended import GOOD, Ended, save
from helpers.batch.campaign.pool import conduct
from helpers.batch.campaign.pool.conduct import at_once
from helpers.batch.campaign.pool.devices import Here
from helpers.batch.campaign.pool.order import Order
from tests.batch.campaign.conftest import item


@pytest.fixture
def order(notebooks: Callable[..., Path], tmp_path: Path) -> Order:
    """Of a run that was good, as its folder says."""
    books = notebooks(environment="good")
    order = Order(item("a", require="cpu"), str(tmp_path), str(books), "start", here=Here("cpu", 1, {"tier": "cpu"}))
    order.folder.mkdir()
    (order.folder / "report.json").write_text("{}")
    return order


@pytest.mark.parametrize("change, same",
    [({}, True), ({"tags": ("x",)}, True), ({"require": ""}, False), ({"cards": 2}, False)],
)  # fmt: skip
def test_what_the_plan_demands_is_part_of_the_key(order: Order, change: dict[str, Any], same: bool) -> None:
    assert order.here
    save(order.folder, Ended("a", GOOD, "OK", key=conduct._key(order, order.here)))
    early = at_once(replace(order, item=replace(order.item, **change)))
    assert (early is not None and early.reused) == same
