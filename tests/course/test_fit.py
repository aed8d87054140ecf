"""Memory by hand is held against a rehearsal: each number alone, the kind that breaks it, the change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.report import Report
from course import DONE, NOT_YET, PARTLY, check_task
from course.packing.solving import read_solutions
from course.tasks import fit
from tests.conftest import ROOT
from tests.course.planning import make_report

COPY = 12.55
KINDS = {"weights": COPY, "gradients": COPY, "optimizer": 2 * COPY, "activations": 1e-5, "temporary": COPY}
HELD = {**KINDS, "temporary": 6.86, "communication": 0.0}


def solution(**other: Any) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(read_solutions(ROOT / "notebooks/course/solutions/07_planning.py")["fit"], space)
    return {**space["why_not"](), **other}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Rehearsals of a machine where FSDP fits and nothing else does; what was rehearsed."""
    seen: list[tuple[str, ...]] = []

    def rehearse_script(arguments: Sequence[str], folder: Path, *, cards: int = 1) -> Report:
        seen.append((f"{cards}", *arguments))
        fits = cards == fit.CARDS and "fsdp" in arguments
        return make_report("fits" if fits else "needs", kinds=KINDS, held=None if fits else HELD)

    monkeypatch.setattr(fit, "rehearse_script", rehearse_script)
    return seen


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"change": "--parallel fsdp --recompute"},
        {"change": ["--batch-size", 2, "--parallel=fsdp", "--size", "7b"]},
        {"breaks": "temporary results"},
        {"breaks": "临时结果"},
        {"weights": 12.5, "gradients": 12.6, "optimizer": 25, "temporary": 12.4},
    ],
)
def test_a_right_answer_passes_by_any_way(tmp_path: Path, asked: list[tuple[str, ...]], other: dict[str, Any]) -> None:
    outcome = check_task("fit", solution(**other), run_dir=tmp_path)
    assert outcome.status == DONE, outcome
    alone, spread = sorted(asked)
    assert alone == ("1", *fit.ARGUMENTS) and spread[: 1 + len(fit.ARGUMENTS)] == ("8", *fit.ARGUMENTS)
    assert "fsdp" in " ".join(spread)


NEAR: list[tuple[dict[str, Any], str]] = [
    ({"weights": COPY * fit.GB}, "gb"),
    ({"gradients": 2 * COPY}, "factor"),  # of float32
    ({"optimizer": COPY}, "factor"),  # one moment
    ({"optimizer": 4 * COPY}, "factor"),  # moments in float32
    ({"temporary": 0.17}, "too_little"),  # of one tensor alone
    ({"weights": 7e9 * 2 / 2**30}, "too_much"),  # of seven billion, which is its name
    ({"weights": 6.74e9}, "unit"),
    ({"breaks": "optimizer"}, "breaks_not"),
    ({"breaks": "activations"}, "breaks_not"),
]


@pytest.mark.parametrize(("other", "why"), NEAR)
def test_a_near_miss_is_told_why(tmp_path: Path, asked: list[tuple[str, ...]], other: dict[str, Any], why: str) -> None:
    outcome = check_task("fit", solution(**other), run_dir=tmp_path)
    assert outcome.status == PARTLY and [point["say"] for point in outcome.missing] == [f"course.fit.{why}"]


@pytest.mark.parametrize("change", [["--parallel", "ddp"], ["--recompute"], "--parallel ddp --batch-size 1"])
def test_a_change_that_does_not_help_is_told_by_its_rehearsal(
    tmp_path: Path, asked: list[tuple[str, ...]], change: object
) -> None:
    outcome = check_task("fit", solution(change=change), run_dir=tmp_path)
    assert outcome.status == PARTLY and [point["say"] for point in outcome.missing] == ["PLN500.needs"]


REFUSED: list[tuple[object, str]] = [
    ([12.55], "course.fit.fields"),
    (solution(weights="12.55"), "course.fit.number"),
    (solution(optimizer=-1), "course.fit.number"),
    (solution(gradients=True), "course.fit.number"),
    (solution(breaks="memory"), "course.fit.kind"),
    (solution(change=[]), "course.planning.nothing"),
    (solution(change=["--layers", "16", "--parallel", "fsdp"]), "course.planning.option"),  # another model
    (solution(change=["--size", "1b"]), "course.planning.value"),
    (solution(change=["--seq-length", "128", "--parallel", "fsdp"]), "course.planning.value"),
]


@pytest.mark.parametrize(("answer", "why"), REFUSED)
def test_what_is_no_answer_is_not_rehearsed(
    tmp_path: Path, asked: list[tuple[str, ...]], answer: object, why: str
) -> None:
    outcome = check_task("fit", answer, run_dir=tmp_path)
    assert outcome.status == NOT_YET and [point["say"] for point in outcome.missing] == [why] and not asked


def test_a_rehearsal_that_does_not_run_out_judges_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "rehearse_script", lambda *_, **__: make_report("fits", kinds=KINDS))
    outcome = check_task("fit", solution(), run_dir=tmp_path)
    assert outcome.status == NOT_YET and outcome.missing[0]["say"] == "course.run.reference"


@pytest.mark.full
def test_the_solution_is_accepted(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    outcome = check_task("fit", solution(), run_dir=tmp_path)
    assert outcome.status == DONE, outcome


@pytest.mark.full
def test_copies_on_eight_cards_do_not_fit(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    outcome = check_task("fit", solution(change=["--parallel", "ddp", "--recompute"]), run_dir=tmp_path)
    assert outcome.status == PARTLY and [point["say"] for point in outcome.missing] == ["PLN500.needs"], outcome
