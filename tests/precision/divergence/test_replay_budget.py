"""What running operators again may take: told before it starts, and kept to."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.divergence.replay import Budget, estimate_seconds
from tests.precision.networks import convolutions


def test_a_fifth_of_what_comparing_takes_and_thirty_seconds_at_least() -> None:
    assert (Budget(None, 100.0).seconds, Budget(None, 200.0, 15.0).left) == (30.0, 25.0)
    assert (Budget(5.0, 1000.0).left, Budget(5.0, 0.0, 4.0).left, Budget(5.0, 0.0, 7.0).left) == (5.0, 1.0, 0.0)


def test_an_estimate_has_a_range() -> None:
    assert estimate_seconds(100, 10**8) == (pytest.approx(1.5 + 0.2 + 0.5), pytest.approx(6.0 + 2.0 + 10.0))


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("replayed")
    return convolutions(root / "a"), convolutions(
        root / "b", faults={"Functional.relu.1.forward": lambda value: value * 1.01}
    )


def test_where_the_time_is_over_it_is_said_and_nothing_was_run_again(captures: tuple[Path, Path]) -> None:
    lines: list[str] = []
    report = compare(*captures, replay_budget=0.0, replay_on=(), progress=lines.append)
    (cut,) = [finding for finding in report.findings if finding.key == "ACC215.replay_cut"]
    assert cut.args["done"] == 0 and isinstance(cut.args["count"], int) and cut.args["count"] > 10
    assert "--replay-budget" in cut.hint("en")
    (line,) = [str(line) for line in lines if "float64" in str(line)]
    assert f"run {cut.args['count']} operators" in line and "at most 0 s" in line


def test_within_its_time_everything_is_run_again(captures: tuple[Path, Path]) -> None:
    report = compare(*captures, replay_on=())
    assert "ACC215.replay_cut" not in {finding.key for finding in report.findings}
    assert report.facts["first_divergence"].startswith("Functional.relu.1")
