"""A clock that was set back between two starts: what was last is still last, and no expectation lives longer by it."""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.batch.campaign import cluster
from ascend_workbook.batch.campaign.ended import EXPECTED, RED, Ended
from ascend_workbook.batch.campaign.order import Order
from ascend_workbook.batch.plan.model import Expected
from ascend_workbook.batch.results import history
from ascend_workbook.batch.results import history as clock
from ascend_workbook.batch.results.publish import publish_results
from ascend_workbook.findings.finding import Status
from tests.batch.campaign.conftest import item
from tests.batch.results.made import night

NOW = datetime(2026, 5, 4, 1, 0, tzinfo=timezone.utc)


def kept(folder: Path, *created: str) -> None:
    for when in created:
        summary = {"schema_version": 1, "plan": "night", "complete": True, "created": when, "runs": []}
        history.keep_summary(folder, summary)


def test_the_last_is_the_one_that_was_made_last(tmp_path: Path) -> None:
    kept(tmp_path, "2026-05-05T01:00:00.000+00:00", "2026-05-04T01:00:00.000+00:00")
    found = history.find_earlier("last", tmp_path, "night")
    assert found is not None and found.created.startswith("2026-05-04")
    kept(tmp_path, *(f"2026-01-01T00:00:{second:02}.000+00:00" for second in range(history.KEPT)))
    names = sorted(path.stem for path in (tmp_path / "history").glob("*.json"))
    assert len(names) == history.KEPT and "20260101" in names[0], "the oldest go first, not those of the earliest time"


def test_files_of_an_earlier_version_are_older_than_all_others(tmp_path: Path) -> None:
    kept(tmp_path, "2026-05-05T01:00:00.000+00:00")
    path = next((tmp_path / "history").glob("*.json"))
    path.rename(path.with_name(path.name.partition("-")[2]))
    kept(tmp_path, "2026-05-04T01:00:00.000+00:00")
    found = history.find_earlier("last", tmp_path, "night")
    assert found is not None and found.created.startswith("2026-05-04")
    assert clock.decide_day(tmp_path, NOW)[0].isoformat() == "2026-05-05"


@pytest.mark.parametrize(
    ("created", "day", "told"),
    [
        ("2026-05-03T23:00:00.000+00:00", "2026-05-04", False),
        ("2026-05-04T01:09:00.000+00:00", "2026-05-04", False),
        ("2026-05-06T01:00:00.000+00:00", "2026-05-06", True),
    ],
)
def test_the_day_is_the_later_one(tmp_path: Path, created: str, day: str, told: bool) -> None:
    assert clock.decide_day(tmp_path, NOW)[0].isoformat() == "2026-05-04", "a first time has nothing to be held against"
    kept(tmp_path, created)
    found, findings = clock.decide_day(tmp_path, NOW)
    assert (found.isoformat(), [one.key for one in findings]) == (day, ["RUN416.clock"] if told else [])


def test_an_expectation_that_is_over_stays_over(tmp_path: Path) -> None:
    plan, done = night(tmp_path, {"a": "good", "b": "red"}, expect=(Expected("b", "2089-01-01", "a bug", "precision"),))
    publish_results(plan, done, tmp_path, "en", finished=True)
    told: dict[str, Any] = json.loads((tmp_path / "summary.json").read_text())
    assert [run["state"] for run in told["runs"]] == ["good", EXPECTED]
    kept(tmp_path, "2089-01-02T00:00:00.000+00:00")
    report = publish_results(plan, done, tmp_path, "en", finished=True)
    told = json.loads((tmp_path / "summary.json").read_text())
    assert [run["state"] for run in told["runs"]] == ["good", RED] and report.status is Status.FIX
    assert any("2089-01-02" in one.message("en") and "timedatectl" in one.hint("en") for one in report.findings)


def test_the_plans_end_is_a_length_of_time_on_each_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the order's moment by the client's clock the worker makes the one by its own."""
    seen: list[float] = []
    order = Order(item("a"), str(tmp_path), "", "s", until=time.monotonic() + 60)
    (tmp_path / cluster.START).write_text("s")
    monkeypatch.setattr("distributed.get_worker", lambda: type("Worker", (), {"name": "w", "address": "x"}))
    monkeypatch.setattr(cluster, "end_at_once", lambda one, where: seen.append(one.until) or Ended("a", RED, "Fix"))
    for ahead_s in (0.0, 500.0):  # the client was started so much earlier than this machine
        text = Order(**{**vars(order), "until": order.until + ahead_s}).to_json()
        cluster.serve_order(text, time.time() - time.monotonic() - ahead_s)
    assert all(abs(until - order.until) < 1 for until in seen) and len(seen) == 2
