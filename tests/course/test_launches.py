"""A step that its host does not limit: judged by the ranges of the rehearsal, and it has to fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.estimates.launches import estimate_launches
from ascend_workbook.findings.report import Report
from course import DONE, NOT_YET, PARTLY, check_task
from course.packing.solving import read_solutions
from course.tasks import launches
from tests.conftest import ROOT
from tests.course.planning import make_report

KERNELS = 300
LAUNCH = estimate_launches(KERNELS)
LEAST, MOST = LAUNCH.low / 1e3, LAUNCH.high / 1e3


def solution() -> Any:
    space: dict[str, Any] = {}
    exec(read_solutions(ROOT / "notebooks/course/solutions/07_planning.py")["launches"], space)
    return space["arguments"]()


def judge(monkeypatch: pytest.MonkeyPatch, folder: Path, report: Report, answer: object = ("--batch-size", "9")) -> Any:
    monkeypatch.setattr(launches, "rehearse_script", lambda *_: report)
    return check_task("launches", answer, run_dir=folder)


def test_a_device_that_takes_longer_than_the_slowest_host_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = make_report(kernels=KERNELS, compute_ms=(MOST * 1.01, MOST * 2))
    outcome = judge(monkeypatch, tmp_path, report)
    assert outcome.status == DONE and f"{KERNELS} kernels" in str(outcome)


@pytest.mark.parametrize(
    ("compute_ms", "why"),
    [
        ((LEAST / 4, LEAST * 0.99), "host"),
        ((LEAST / 4, LEAST * 1.01), "unsure"),
        ((MOST * 0.99, MOST * 9), "unsure"),
    ],
)
def test_ranges_that_do_not_part_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compute_ms: tuple[float, float], why: str
) -> None:
    outcome = judge(monkeypatch, tmp_path, make_report(kernels=KERNELS, compute_ms=compute_ms))
    assert outcome.status == NOT_YET and [point["say"] for point in outcome.missing] == [f"course.launches.{why}"]


@pytest.mark.parametrize("verdict", ["needs", "unsure"])
def test_it_has_to_fit_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: str) -> None:
    report = make_report(verdict, kernels=KERNELS, compute_ms=(MOST * 2, MOST * 3))
    outcome = judge(monkeypatch, tmp_path, report)
    assert outcome.status == PARTLY and [point["say"] for point in outcome.missing] == [f"PLN500.{verdict}"]


def test_a_training_without_a_step_is_not_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = judge(monkeypatch, tmp_path, make_report("needs"))
    assert outcome.status == NOT_YET and [point["say"] for point in outcome.missing] == ["PLN500.needs"]
    assert judge(monkeypatch, tmp_path, make_report()).status == NOT_YET  # it fits, and no kernel was seen


REFUSED: list[tuple[Sequence[object], str]] = [
    (["--size", "7b"], "course.planning.value"),
    (["--size", "tiny", "--steps", "1"], "course.planning.option"),
    (["--parallel", "fsdp"], "course.planning.value"),
    (["--batch-size", 0], "course.planning.number"),
    (["--batch-size", 1 << 20], "course.launches.tokens"),
    (["--batch-size", 1 << 12, "--seq-length", 1 << 12], "course.launches.tokens"),
    (["--gradient-accumulation-steps", 1 << 20], "course.launches.tokens"),
    (["--layers", 400], "course.launches.layers"),
]


@pytest.mark.parametrize(("answer", "why"), REFUSED)
def test_what_is_no_small_training_is_not_rehearsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: list[object], why: str
) -> None:
    report = make_report(kernels=KERNELS, compute_ms=(MOST * 2, MOST * 3))
    outcome = judge(monkeypatch, tmp_path, report, answer)
    assert outcome.status == NOT_YET and [point["say"] for point in outcome.missing] == [why]


@pytest.mark.full
@pytest.mark.parametrize("answer", [solution(), "--size tiny --seq-length 4096 --batch-size 64"])
def test_longer_kernels_are_accepted(tmp_path: Path, simulator_env: dict[str, str], answer: object) -> None:
    outcome = check_task("launches", answer, run_dir=tmp_path)
    assert outcome.status == DONE, outcome


@pytest.mark.full
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (["--batch-size", "8"], "host"),
        (["--batch-size", "64"], "host"),
        (["--batch-size", "8", "--gradient-accumulation-steps", "16"], "host"),
        (["--batch-size", "8", "--layers", "1"], "host"),
        (["--batch-size", "512"], "unsure"),
    ],
)
def test_what_leaves_kernels_short_is_not(
    tmp_path: Path, simulator_env: dict[str, str], answer: object, why: str
) -> None:
    outcome = check_task("launches", answer, run_dir=tmp_path)
    assert outcome.status == NOT_YET and outcome.missing[0]["say"] == f"course.launches.{why}", outcome
