"""Prices: what a card-hour and a person-day cost, and a row that is wrong is named with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.estimates.chips import find_chip
from ascend_workbook.estimates.prices import load_prices, write_template
from ascend_workbook.estimates.ranges import Range
from ascend_workbook.findings.errors import WorkbookError

NODE = {"resource": "BMS", "unit": "month", "price": 58400, "currency": "CNY", "cards": 8}
WORK = {"resource": "tuning", "unit": "person-day", "price": 1000, "currency": "CNY"}


def write_rows(folder: Path, *rows: Any) -> Path:
    path = folder / "prices.json"
    path.write_text(json.dumps({"rows": rows}))
    return path


def test_a_card_hour_is_a_month_over_hours_and_cards(tmp_path: Path) -> None:
    prices = load_prices(write_rows(tmp_path, NODE))
    cost = prices.cost(Range(10, 20, 40), find_chip("910B3"))
    assert cost is not None and (cost.low, cost.middle, cost.high) == (100, 200, 400)
    assert cost.currency == "CNY" and cost.source.endswith("prices.json: BMS") and not prices.shipped


@pytest.mark.parametrize("unit, price", [("hour", 80), ("day", 1920), ("month", 58400), ("year", 700800)])
def test_units_of_time_agree(tmp_path: Path, unit: str, price: float) -> None:
    row = load_prices(write_rows(tmp_path, {**NODE, "unit": unit, "price": price})).rows[0]
    assert row.of_card_hour == 10


def test_a_chips_own_price_goes_first(tmp_path: Path) -> None:
    own = {**NODE, "resource": "own", "price": 116800, "chip": "910B3"}
    prices = load_prices(write_rows(tmp_path, NODE, own))
    names = {chip: prices.card_row(find_chip(chip)) for chip in ("910B1", "910B3")}
    assert {chip: row and row.resource for chip, row in names.items()} == {"910B1": "BMS", "910B3": "own"}
    only = load_prices(write_rows(tmp_path, own))
    assert only.cost(Range(1, 1, 1), find_chip("910B1")) is None


def test_work_costs_from_the_cheapest_to_the_dearest_day(tmp_path: Path) -> None:
    dear = {**WORK, "price": 4000, "count": 2}
    cost = load_prices(write_rows(tmp_path, WORK, dear)).cost_of_work(Range(8, 16, 24))
    assert cost is not None and (cost.low, cost.middle, cost.high) == (1000, 3000, 6000)
    euros = {**WORK, "currency": "EUR"}
    assert load_prices(write_rows(tmp_path, WORK, euros)).cost_of_work(Range(8, 16, 24)) is None
    assert load_prices(write_rows(tmp_path, {**WORK, "price": None})).cost_of_work(Range(8, 8, 8)) is None


def test_the_shipped_example_is_whole() -> None:
    prices = load_prices()
    assert prices.shipped and len({row.resource for row in prices.rows}) == len(prices.rows) == 21
    assert sum(row.price or 0 for row in prices.rows) == pytest.approx(88_342.75)
    assert prices.monthly() == {"CNY": pytest.approx(88_342.75 - 45_000)}
    row = prices.card_row(find_chip("910B2"))
    assert row is not None and row.of_card_hour == pytest.approx(45_000 / 8 / 730)


@pytest.mark.parametrize(
    "row, key, place",
    [
        ("BMS", "prices.bad_row", "rows[0]"),
        ({**NODE, "cost": 1}, "prices.fields", "rows[0]"),
        ({"resource": "BMS"}, "prices.fields", "rows[0]"),
        ({**NODE, "unit": "week"}, "prices.unit", "rows[0].unit"),
        ({**NODE, "unit": ["week"]}, "prices.unit", "rows[0].unit"),
        ({**NODE, "price": "45,000"}, "prices.number", "rows[0].price"),
        ({**NODE, "price": -1}, "prices.number", "rows[0].price"),
        ({**NODE, "price": True}, "prices.number", "rows[0].price"),
        ({**NODE, "count": 0}, "prices.number", "rows[0].count"),
        ({**NODE, "cards": "8"}, "prices.number", "rows[0].cards"),
        ({**NODE, "currency": ""}, "prices.text", "rows[0].currency"),
        ({**NODE, "resource": 5}, "prices.text", "rows[0].resource"),
    ],
)
def test_a_bad_row_is_one_error_with_its_place(tmp_path: Path, row: Any, key: str, place: str) -> None:
    with pytest.raises(WorkbookError) as error:
        load_prices(write_rows(tmp_path, row))
    assert error.value.key == key and str(error.value.arguments["place"]).endswith(place)
    assert error.value.message("zh") and error.value.hint("en")


@pytest.mark.parametrize(
    "text, key", [("{", "prices.no_json"), ("[]", "prices.no_rows"), ('{"rows": []}', "prices.no_rows")]
)
def test_a_file_of_no_rows_is_one_error(tmp_path: Path, text: str, key: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(WorkbookError) as error:
        load_prices(path)
    assert error.value.key == key


def test_a_template_is_written_once(tmp_path: Path) -> None:
    path = write_template(tmp_path / "mine.json")
    assert [row.resource for row in load_prices(path).rows] == [row.resource for row in load_prices().rows]
    with pytest.raises(WorkbookError) as error:
        write_template(path)
    assert error.value.key == "prices.not_written"
