"""The suspicious operators in one list: who stands first, and why the others stand behind."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ascend_workbook.findings.report import Report
from ascend_workbook.precision.compare import compare
from benchmarks.matrix.replaying import in_this_process
from tests.precision.networks import convolutions

FIRST = "Functional.conv2d.1.forward"
FAULTS = (FIRST, "Functional.conv2d.2.forward", "Functional.relu.2.forward")


def wrong(value: torch.Tensor) -> torch.Tensor:
    return value * 1.01


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("candidates")
    for step in (0, 1):
        convolutions(root / "a", step=step)
        convolutions(root / "b", step=step, faults=dict.fromkeys(FAULTS if step == 0 else FAULTS[:1], wrong))
    return root


@pytest.fixture(scope="module")
def report(sides: Path) -> Report:
    with in_this_process():
        found: Report = compare(sides / "a", sides / "b")
    return found


def ranked(report: Report) -> list[tuple[object, ...]]:
    (part,) = report.parts
    assert part.table
    reasons = [str(cell["say"]) for cell in part.table.column_values("why_here") if isinstance(cell, dict)]
    return list(zip(part.table.column_values("operator"), part.table.column_values("step"), reasons))


def test_the_first_divergence_leads_and_every_other_has_its_reason(report: Report) -> None:
    told = ranked(report)
    assert told[:4] == [
        (FAULTS[0], 0, "suspects.first"),
        (FAULTS[1], 0, "suspects.kind"),
        (FAULTS[2], 0, "suspects.own"),
        (FIRST, 1, "suspects.again"),
    ]
    assert told[4:] and {reason for _, _, reason in told[4:]} == {"suspects.consequence"}
    table = report.parts[0].table
    assert table and table.column_values("candidate") == list(range(1, len(told) + 1))
    times, own, allowed = (table.column_values(name)[0] for name in ("times_allowed", "own_error", "allowed"))
    assert isinstance(times, float) and isinstance(own, float) and isinstance(allowed, float)
    assert times == own / allowed > 100
    assert "float64" in report.parts[0].text("en") and "后果" in report.parts[0].text("zh")


def test_without_a_replay_what_comes_behind_may_be_amplified(sides: Path) -> None:
    told = ranked(compare(sides / "a", sides / "b", replaying=False))
    assert told[0] == (FIRST, 0, "suspects.first") and (FIRST, 1, "suspects.again") in told
    assert not [reason for _, _, reason in told if reason in ("suspects.own", "suspects.kind")]


def test_steps_that_were_not_captured_may_hold_the_beginning(tmp_path: Path) -> None:
    for step in (0, 4):
        convolutions(tmp_path / "a", step=step)
        convolutions(tmp_path / "b", step=step, faults={FIRST: wrong} if step else {})
    report = compare(tmp_path / "a", tmp_path / "b", replaying=False)
    assert ranked(report)[0] == (FIRST, 4, "suspects.first_since")
    assert report.parts[0].table
    told = report.parts[0].table.column_values("why_here")[0]
    assert isinstance(told, dict) and told["args"] == {"before": 0, "begin": 1, "end": 3}


def test_a_healthy_comparison_suspects_nobody(sides: Path) -> None:
    assert compare(sides / "a", sides / "a").parts == ()
