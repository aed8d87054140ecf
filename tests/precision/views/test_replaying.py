"""One operator run again at a click: the side that is off, the device asked once more, and what cannot be said so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.divergence import replay
from ascend_workbook.precision.views.replaying import MOST, _list_operators, replay_box, replay_row
from ascend_workbook.show.boxed import HEADLESS
from tests.precision.dumps import as_capture
from tests.precision.networks import convolutions

WRONG, BEFORE = "Functional.conv2d.1.forward", "Functional.conv2d.0.forward"


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("sides")
    convolutions(root / "a" / "dump")
    convolutions(root / "b" / "dump", faults={WRONG: lambda value: value * 1.01}, skip="Functional.relu.0.backward")
    return as_capture(root / "a", tier="cpu"), as_capture(root / "b", tier="cpu")


@pytest.fixture(scope="module")
def sick(sides: tuple[Path, Path]) -> Report:
    return compare(*sides, replaying=False)


def keys(report: Report) -> list[str]:
    return [finding.key for finding in report.findings]


@pytest.mark.usefixtures("operators_are_run_again_in_a_child")
def test_the_culprit_is_run_again(sick: Report) -> None:
    report = replay_row(sick)
    assert keys(report) == ["ACC238.wrong", "ACC238.not_again"] and report.status is Status.LOOK
    told = report.findings[0].args
    assert (told["operator"], told["side"]) == (WRONG, {"say": "precision.side_target"})
    assert told["own"] == pytest.approx(0.01, rel=1e-3) and 0 < told["allowed"] < 1e-4  # type: ignore[operator]
    assert report.table is not None
    target, baseline, again = report.table.rows
    assert target[3] == told["own"] and target[5] == pytest.approx(told["own"] / told["allowed"])  # type: ignore[operator]
    assert baseline[3] < baseline[4] and again[3] < again[4], "the baseline and the operator itself are right"  # type: ignore[operator]
    assert "the error is made here" in report.text("en") and "误差在此产生" in report.text("zh")


def test_a_baseline_that_is_off_is_named(sides: tuple[Path, Path]) -> None:
    report = replay_row(compare(*reversed(sides), replaying=False), WRONG)
    assert report.findings[0].key == "ACC238.wrong"
    assert report.findings[0].args["side"] == {"say": "precision.side_baseline"}


def test_another_row_is_right_by_number_and_by_name(sick: Report) -> None:
    order = next(order for order, _, _, name in _list_operators(sick) if name == BEFORE)
    report = replay_row(sick, order)
    assert keys(report) == ["ACC238.right", "ACC238.device_right"] and report.status is Status.GOOD
    assert report.facts["row"] == order
    for row in (BEFORE, str(order)):
        assert replay_row(sick, row).findings == report.findings


def test_what_cannot_be_run_again_is_said(
    sick: Report, sides: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert keys(replay_row(sick, "Functional.relu.0.backward")) == ["ACC238.unpaired"]
    assert keys(replay_row(Report("precision", "compare"))) == ["ACC238.nothing"]
    with pytest.raises(WorkbookError, match="no row Functional.other in the comparison"):
        replay_row(sick, "Functional.other")
    monkeypatch.setattr(replay, "ask_child", lambda job, python="": ({}, "the child died"))
    report = replay_row(sick)
    assert keys(report) == ["ACC238.cannot"] and report.status is Status.NOT_LOOKED
    assert "the child died" in report.text("en") and report.table is None
    copies = [Path(shutil.copytree(side, tmp_path / side.name)) for side in sides]
    again = compare(*copies, replaying=False)
    shutil.rmtree(copies[1])
    with pytest.raises(WorkbookError, match="is no longer there"):
        replay_row(again)


def test_a_device_that_is_not_here_is_not_called_right(sides: tuple[Path, Path], tmp_path: Path) -> None:
    elsewhere = as_capture(Path(shutil.copytree(sides[1], tmp_path / "b")), tier="cuda")
    report = replay_row(compare(sides[0], elsewhere, replaying=False))
    assert keys(report) == ["ACC238.wrong", "ACC238.device_failed"]
    assert report.findings[1].status is Status.NOT_LOOKED


def test_the_button_runs_what_is_chosen(sick: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    headless = replay_box(sick, BEFORE, "en")
    assert isinstance(headless, Report) and keys(headless)[0] == "ACC238.right"
    monkeypatch.delenv(HEADLESS)
    pytest.importorskip("ipywidgets")
    shown = replay_box(sick, lang="en")
    assert shown.still.findings == replay_row(sick).findings  # type: ignore[attr-defined]
    (choice, button), answer = shown.box.children[0].children, shown.box.children[1]  # type: ignore[attr-defined]
    assert choice.value == shown.still.facts["row"] and WRONG in dict(map(reversed, choice.options))[choice.value]  # type: ignore[attr-defined,arg-type]
    assert answer.value == ""
    button.click()
    assert WRONG in answer.value and "the error is made here" in answer.value and not button.disabled
    choice.value = next(order for order, _, _, name in _list_operators(sick) if name == BEFORE)
    button.click()
    assert BEFORE in answer.value and WRONG not in answer.value
    monkeypatch.setattr("ascend_workbook.precision.views.replaying.replay_row", _raise_gone)
    button.click()
    assert "is no longer there" in answer.value and not button.disabled and len(choice.options) <= MOST


def _raise_gone(comparison: Report, row: int) -> Report:
    raise WorkbookError("replay.gone", path="/gone")
