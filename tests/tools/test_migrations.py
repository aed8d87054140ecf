"""The public repositories to migrate: their halves and labels, and how runs are held against the scan."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tools.migrations import figures
from tools.migrations.__main__ import HELD, HERE, WORKING, load_entries, load_labels, main
from tools.migrations.samples import PACKS, write_sample

ENTRY: dict[str, Any] = {"repository": "某/repo", "path": "train.py"}


def test_the_halves_are_those_of_the_seed() -> None:
    content = json.loads((HERE / "repositories.json").read_text(encoding="utf-8"))
    entries = content["repositories"]
    names = [entry["repository"] for entry in entries]
    assert names == sorted(set(names)) and len(names) >= 60
    assert {entry["licence"] for entry in entries} == {"MIT", "BSD", "Apache-2.0"}
    seen = {name for name in names if name in content["about"]}
    free = [name for name in names if name not in seen]
    held = set(random.Random(content["seed"]).sample(free, len(names) // 2))
    assert held == {entry["repository"] for entry in load_entries(HELD)}
    assert seen <= {entry["repository"] for entry in load_entries(WORKING)}


def test_every_label_is_of_a_repository_of_the_list() -> None:
    names = {entry["repository"] for half in (WORKING, HELD) for entry in load_entries(half)}
    labels = load_labels()
    assert {label["repository"] for label in labels} <= names
    assert {label["label"] for label in labels} == set(figures.LABELS)
    assert set(PACKS) <= names


@pytest.mark.parametrize(
    ("frames", "error", "told"),
    [
        ([("a.py", 3), ("b.py", 9)], "RuntimeError: 错", figures.AT_LINE),
        ([("b.py", 9), ("a.py", 3)], "RuntimeError: 错", figures.ABOVE),
        ([("a.py", 3)], "BackendCompilerFailed: backend='inductor' raised", figures.AT_CAUSE),
        ([("c.py", 3)], "BackendCompilerFailed: backend='inductor' raised", figures.NOT_SAID),
        ([("a.py", 3)], "RuntimeError: 错", figures.NOT_SAID),
        ([("a.py", 7)], "RuntimeError: 错", figures.NOT_SAID),
        ([], "RuntimeError: 错", figures.NOT_SAID),
    ],
)
def test_where_a_crash_was_said(frames: list[tuple[str, int]], error: str, told: str) -> None:
    places = {
        ("b.py", 9): [("manual", "MIG101")],
        ("a.py", 1): [("rewrite", "MIG111")],
        ("a.py", 7): [("auto", "MIG103")],
    }
    assert figures.tell_crash(places, frames, error) == told


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ([1.0, 2.0], [1.0, 2.001], True),
        ([1.0, 2.0], [1.0, 2.01], False),
        ([1.0], [1.0, 2.0], False),
        ([], [], False),
        ([None], [None], False),
    ],
)
def test_losses_are_equal(first: list[float | None], second: list[float | None], equal: bool) -> None:
    assert figures.are_equal(first, second) is equal


def _write(out: Path, part: str, content: dict[str, Any]) -> None:
    (out / "results").mkdir(exist_ok=True)
    (out / "results" / f"某+repo.{part}.json").write_text(json.dumps(content), encoding="utf-8")


def test_a_half_is_gathered_from_what_the_runs_left(tmp_path: Path) -> None:
    labels = [
        {"repository": "某/repo", "path": "sub/train.py", "line": line, "label": label}
        for line, label in ((2, "unsupported"), (3, "auto"), (4, "no_action"))
    ]
    places = [["sub/train.py", 2, "unsupported", "MIG109"], ["sub/train.py", 3, "manual", "MIG101"]]
    _write(tmp_path, "scan", {"places": places, "unread": []})
    _write(tmp_path, "cpu", {"ok": True, "losses": [1.0]})
    crash = {
        "ok": False,
        "outcome": "failed",
        "base": "sub",
        "frames": [["train.py", 9]],
        "reached": {"train.py": [2, 9]},
    }
    error = {"type": "RuntimeError", "message": "module must have its parameters and buffers on device cuda:0"}
    _write(tmp_path, "npu-simulated", {**crash, "error": error, "losses": []})
    _write(tmp_path, "migrate", {"verdict": "MIG300.agrees"})
    half = figures.gather([ENTRY], labels, tmp_path)
    assert half.outcomes == {"crashes on the NPU": 1} and half.told == {figures.AT_CAUSE: 1}
    assert half.unsupported == {"the run ended there": 1} and half.migrated == {"MIG300.agrees": 1}
    assert half.labels.agreement == pytest.approx(2 / 3)
    _write(
        tmp_path,
        "npu-simulated",
        {**crash, "ok": True, "outcome": "finished", "frames": [], "losses": [1.5], "devices": ["npu:0"]},
    )
    half = figures.gather([ENTRY], labels, tmp_path)
    assert half.outcomes == {"trains as it stands, losses differ": 1} and not half.told
    assert half.unsupported == {"the run went on": 1}
    _write(tmp_path, "npu-simulated", {**crash, "ok": True, "frames": [], "losses": [1.0], "devices": ["cpu"]})
    assert figures.gather([ENTRY], labels, tmp_path).outcomes == {"trains, and not on the NPU": 1}
    _write(tmp_path, "cpu", {"ok": False, "outcome": "timeout", "said": "太慢"})
    assert figures.gather([ENTRY], labels, tmp_path).outcomes == {"does not train on the CPU": 1}


def test_another_file_than_the_lists_is_refused(tmp_path: Path) -> None:
    name = load_entries(WORKING)[0]["repository"]
    with pytest.raises(SystemExit, match="is not the file of commit"):
        main(["scan", str(tmp_path), str(tmp_path / "out"), "--only", name])


def test_a_sample_is_written_once(tmp_path: Path) -> None:
    root, data = tmp_path / "root", tmp_path / "data"
    root.mkdir()
    write_sample("kimiyoung/transformer-xl", root, data)
    text = (data / "train.txt").read_text(encoding="utf-8")
    assert len(text.splitlines()) == 400
    (data / "train.txt").write_text("改", encoding="utf-8")
    write_sample("kimiyoung/transformer-xl", root, data)
    assert (data / "train.txt").read_text(encoding="utf-8") == "改"
