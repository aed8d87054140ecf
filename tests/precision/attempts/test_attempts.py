"""Attempts are kept one by one, never written over, and the last says whether the change helped."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.attempts.helped import judge_change
from ascend_workbook.precision.attempts.record import FOLDER, Attempt, list_numbers, load_attempts, save_attempt
from ascend_workbook.precision.attempts.verb import attempts
from ascend_workbook.precision.compare import compare
from tests.precision.baselines.bundles import SIDE, capture_of

RELU, NORM = "Functional.relu.1.forward", "Functional.batch_norm.1.forward"


def attempt(first: dict[str, Any] | None = None, **told: Any) -> Attempt:
    known: dict[str, Any] = {
        "at": "2026-11-01T00:00:00+00:00",
        "status": "Fix" if first else "Good",
        "judged": True,
        "parting": 3,
        "compared": 9,
        "loss": {"worst": 0.1},
        "baseline": "abc",
        "scope": {"level": "L1"},
    }
    return Attempt(**{**known, "first": first, **told})


def place(operator: str = "conv2d", step: int = 0, row: int = 4, error: float | None = 0.1) -> dict[str, Any]:
    return {"operator": operator, "step": step, "rank": 0, "row": row, "error": error}


@pytest.mark.parametrize(
    ("before", "now", "key", "status"),
    [
        (attempt(place()), attempt(None), "gone", Status.GOOD),
        (attempt(place()), attempt(place("relu", row=9)), "later", Status.GOOD),
        (attempt(place()), attempt(place(step=2, row=1)), "later", Status.GOOD),
        (attempt(place()), attempt(place("relu", row=1)), "earlier", Status.LOOK),
        (attempt(place(step=2)), attempt(place(step=0)), "earlier", Status.LOOK),
        (attempt(None), attempt(place()), "new", Status.LOOK),
        (attempt(None), attempt(None), "still_none", Status.GOOD),
        (attempt(place()), attempt(place()), "same", Status.NOTE),
        (attempt(place()), attempt(place(error=0.104)), "same", Status.NOTE),
        (attempt(place()), attempt(place(error=0.096)), "same", Status.NOTE),
        (attempt(place()), attempt(place(error=0.08)), "smaller", Status.NOTE),
        (attempt(place()), attempt(place(error=0.01)), "smaller", Status.NOTE),
        (attempt(place()), attempt(place(error=0.12)), "larger", Status.LOOK),
        (attempt(place()), attempt(place(error=0.2)), "larger", Status.LOOK),
        (attempt(place()), attempt(None, baseline="other"), "other_scope", Status.NOT_LOOKED),
        (attempt(place()), attempt(None, scope={"level": "mix"}), "other_scope", Status.NOT_LOOKED),
        (attempt(place()), attempt(None, judged=False), "not_judged", Status.NOT_LOOKED),
    ],
)
def test_two_attempts_are_held_against_each_other(before: Attempt, now: Attempt, key: str, status: Status) -> None:
    found = judge_change(before, replace(now, number=2))
    assert (found.key, found.status) == (f"ACC285.{key}", status)
    assert found.message("en") and found.message("zh")


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return capture_of(tmp_path_factory.mktemp("gpu"), task="tensor")


def npu(folder: Path, **options: Any) -> Path:
    return capture_of(folder, task="tensor", tier="npu", device="Ascend910B2", **options)


def told(report: Report) -> str:
    return next(found.key for found in report.findings if found.rule == "ACC285")


def test_a_fix_is_followed_from_attempt_to_attempt(gpu: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    steps: list[tuple[str, dict[str, Any]]] = [
        ("only", {"faults": {RELU: lambda x: 1.5 * x, NORM: lambda x: 1.5 * x}, "losses": (2.2, 1.5)}),
        ("later", {"faults": {RELU: lambda x: 1.5 * x}, "losses": (2.1, 1.5)}),
        ("gone", {}),
        ("new", {"faults": {NORM: lambda x: 1.5 * x}}),
    ]
    for at, (key, options) in enumerate(steps, 1):
        report = compare(gpu, npu(tmp_path / str(at), **options), attempts=run)
        assert told(report) == f"ACC285.{key}" and report.facts["attempt"] == at
    shown = attempts(run)
    assert shown.headline is not None and shown.headline.key == "ACC285.new" and shown.status is Status.LOOK
    assert shown.table is not None
    assert shown.table.column_values("first_divergence")[:2] == [NORM, RELU]
    assert shown.table.column_values("loss_difference")[0] == pytest.approx(0.2 / 2.0, rel=0.2)
    assert (
        shown.table.column_values("status") == ["Fix", "Fix", "Good", "Fix"] and shown.text("zh") and shown.html("en")
    )


def test_what_changed_is_told(gpu: Path, tmp_path: Path) -> None:
    def at(name: str, threads: int, seed: int) -> Path:
        flags = {"packages": {"torch": "2.9.0"}, "environment": {}, "flags": {"threads": threads}, "seeds": []}
        return npu(tmp_path / name, side={**SIDE, "settings": flags}, seed=seed)

    compare(gpu, at("a", 1, 1), attempts=tmp_path)
    report = compare(gpu, at("b", 4, 1), attempts=tmp_path)
    (found,) = (one for one in report.findings if one.rule == "ACC285")
    assert found.args["changed"] == ["threads 1 -> 4"]
    report = compare(gpu, at("c", 4, 1), attempts=tmp_path)
    assert "nothing that was recorded" in next(one for one in report.findings if one.rule == "ACC285").message("en")


def test_another_experiment_helps_nothing(gpu: Path, tmp_path: Path) -> None:
    compare(gpu, npu(tmp_path / "a", faults={RELU: lambda x: 1.5 * x}), attempts=tmp_path)
    report = compare(gpu, npu(tmp_path / "b", seed=99), attempts=tmp_path)
    assert told(report) == "ACC285.not_judged" and report.status is Status.FIX


def spoiled(folder: Path) -> None:
    for path in folder.rglob("*.pt"):
        path.write_bytes(b"garbage")


def cut(folder: Path) -> None:
    """One tensor file of the later part is gone."""
    sorted(folder.rglob("*.pt"))[-1].unlink()


@pytest.mark.parametrize("plain", [True, False], ids=["plain", "capture"])
@pytest.mark.parametrize("damage", [spoiled, cut])
def test_a_damaged_dump_helps_nothing(gpu: Path, tmp_path: Path, plain: bool, damage: Callable[[Path], None]) -> None:
    folders = [npu(tmp_path / name, faults={RELU: lambda x: 1.5 * x}) for name in ("a", "b")]
    if plain:
        folders, gpu = [folder / "dump" for folder in folders], gpu / "dump"
    damage(folders[1])
    compare(gpu, folders[0], attempts=tmp_path / "run")
    report = compare(gpu, folders[1], attempts=tmp_path / "run")
    assert told(report) == "ACC285.not_judged" and report.status is Status.FIX
    shown = attempts(tmp_path / "run")
    assert shown.table is not None and shown.table.column_values("parting")[1] is None
    kept = load_attempts(tmp_path / "run")[0]
    assert kept[0].scope["compared_steps"] == ["step 0 rank 0"], "with fewer steps it would be another scope"
    if damage is spoiled:
        assert [one.compared > 0 for one in kept] == [True, False]


def test_a_copy_of_the_baseline_is_the_same_baseline(gpu: Path, tmp_path: Path) -> None:
    copy = capture_of(tmp_path / "copy", task="tensor")
    compare(gpu, npu(tmp_path / "a"), attempts=tmp_path)
    assert told(compare(copy, npu(tmp_path / "b"), attempts=tmp_path)) == "ACC285.still_none"


def test_kept_at_once_each_has_its_number(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(lambda at: save_attempt(tmp_path, attempt(place(row=at))), range(24)))
    assert sorted(given) == list_numbers(tmp_path) == list(range(1, 25))
    found, troubles = load_attempts(tmp_path)
    assert not troubles and sorted(one.first["row"] for one in found if one.first) == list(range(24))


def content(**fields: Any) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))

    return change


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_text(""),
        lambda path: path.write_bytes(b"\xff\xfe"),
        lambda path: path.write_text("[1]"),
        content(schema="ascend-workbook/attempt/9"),
        content(status="GREAT"),
        content(first={"step": "x"}),
        content(first={**place(), "operator": "x\x1b[2J"}),
        content(settings={"machine": 3}),
        content(parting="3"),
    ],
)
def test_a_damaged_attempt_is_told_and_the_others_are_read(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    for _ in range(3):
        save_attempt(tmp_path, attempt(place()))
    damage(tmp_path / FOLDER / "0002.json")
    report = attempts(tmp_path)
    assert report.table is not None and report.table.column_values("attempt") == [1, 3]
    (found,) = (one for one in report.findings if one.rule == "ACC286")
    assert "0002.json" in found.message("en") and save_attempt(tmp_path, attempt(None)) == 4


def test_where_nothing_is_kept(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="no attempts are kept"):
        attempts(tmp_path)
