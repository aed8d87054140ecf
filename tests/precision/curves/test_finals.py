"""Printed digits that cannot decide are never "together"; reached targets and other metrics are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.curves import curves


def printed(path: Path, *epochs: tuple[str, str]) -> Path:
    """Keras' words for epochs with (loss, accuracy)."""
    path.write_text("".join(f"epoch {at} - loss: {loss} - acc: {acc}\n" for at, (loss, acc) in enumerate(epochs, 1)))
    return path


def judged(tmp_path: Path, target: str, *, wanted: str = "acc>=0.7", acc: str = "0.4") -> Report:
    left = printed(tmp_path / "a.log", ("0.9", "0.5"), ("0.7", "0.6"), ("0.6", "0.70"))
    right = printed(tmp_path / "b.log", ("0.9", "0.5"), (target, acc), ("0.6", "0.71"))
    return curves(left, right, target_metric=[wanted])


@pytest.mark.parametrize(
    ("target", "key"),
    [
        ("0.75", "ACC250.undecided"),
        ("0.7", "ACC250.undecided"),
        ("0.70", "ACC250.undecided"),
        ("0.76", "ACC250.apart"),
        ("0.7512", "ACC250.apart"),
    ],
)
def test_coarse_prints_are_undecided_and_not_together(tmp_path: Path, target: str, key: str) -> None:
    """0.7 may be 0.75 rounded down: only what no rounding of either side gives is a difference."""
    report = judged(tmp_path, target)
    assert [found.key for found in report.findings if found.rule == "ACC250"] == [key]
    assert "stay together" not in report.text("en") and "保持一致" not in report.text("zh")
    assert ("cannot be judged below" in report.text("en")) == (key == "ACC250.undecided")


def test_a_fine_log_is_still_together(tmp_path: Path) -> None:
    left = printed(tmp_path / "a.log", ("0.912345", "0.5"), ("0.7", "0.6"))
    report = curves(left, printed(tmp_path / "b.log", ("0.912344", "0.5"), ("0.7", "0.6")))
    assert report.headline is not None and report.headline.key == "ACC250.together"


def test_small_losses_with_fixed_decimals_are_undecided(tmp_path: Path) -> None:
    left = printed(tmp_path / "a.log", ("2.0000", "0.5"), ("1.9000", "0.5"), ("0.0010", "0.5"))
    report = curves(left, printed(tmp_path / "b.log", ("2.0000", "0.5"), ("1.9000", "0.5"), ("0.0011", "0.5")))
    assert report.headline is not None and report.headline.key == "ACC250.undecided"


def test_a_reached_target_is_told(tmp_path: Path) -> None:
    assert "acc 0.71 >= 0.7: reached" in judged(tmp_path, "0.75").text("en")
    assert judged(tmp_path, "0.75", wanted="acc>=0.8").status is Status.FIX


def test_metrics_of_both_logs_are_told_and_judged(tmp_path: Path) -> None:
    same = judged(tmp_path, "0.75")
    assert "acc 0.7 / 0.71 (step 3)" in same.text("en")
    left = printed(tmp_path / "a.log", ("0.9000", "0.5000"), ("0.7000", "0.6000"))
    apart = curves(left, printed(tmp_path / "c.log", ("0.9000", "0.5000"), ("0.7000", "0.4000")))
    assert apart.status is Status.LOOK and apart.headline is not None and apart.headline.key == "ACC255.differs"
    assert "acc 0.6 / 0.4 (step 2)" in apart.verdict("en")
