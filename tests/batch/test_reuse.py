"""What a launched script opened is part of what its result depends on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.batch import reuse
from ascend_workbook.machine import device
from ascend_workbook.machine.launch import LaunchSpec, launch
from ascend_workbook.machine.launch.child.reading import END, FIELD, FOLDER, LOST
from tests.conftest import ROOT

READER = ROOT / "tests" / "machine" / "launch" / "scripts" / "reader.py"
PARTS = {"script": "1", "code": "1"}


def prepared(folder: Path) -> Path:
    for name in ("elsewhere", "images", "run/stage"):
        (folder / name).mkdir(parents=True)
    texts = {"data.txt": "a", "late.txt": "b", "elsewhere/aside.py": "WORD = 'x'", "images/1.png": ""}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder / "run" / "stage"


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose script has run, with what it opened in run/stage."""
    folder = tmp_path_factory.mktemp("read")
    stage = prepared(folder)
    env = {**device.child_environment("cpu"), FOLDER: str(reuse.forget_reads(stage))}
    launch(LaunchSpec(out=stage / "out", script=READER, args=[str(folder), "look"], env=env))
    assert "no config" in (stage / "out" / "output.log").read_text()
    reuse.keep_dependencies(stage, PARTS)
    return folder


Change = Callable[[Path], Any]


@pytest.mark.parametrize(
    "change, why, name",
    [
        (lambda folder: None, "", ""),
        (lambda folder: (folder / "data.txt").write_text("c"), "reuse.file", "data.txt"),
        (lambda folder: (folder / "late.txt").unlink(), "reuse.gone", "late.txt"),
        (lambda folder: (folder / "elsewhere" / "aside.py").write_text("WORD = 'y'"), "reuse.file", "aside.py"),
        (lambda folder: (folder / "config.json").write_text("{}"), "reuse.new", "config.json"),
        (lambda folder: (folder / "images" / "2.png").touch(), "reuse.folder", "images"),
        (lambda folder: (folder / "own.txt").write_text("other"), "", ""),
        (lambda folder: (folder / "other.txt").write_text("not opened"), "", ""),
        (lambda folder: os.utime(folder / "data.txt", (1, 1)), "", ""),
    ],
)
def test_what_it_opened_decides(read: Path, change: Change, why: str, name: str) -> None:
    kept = read.with_name("kept")
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(read, kept)
    try:
        change(read)
        found = reuse.why_again(read / "run" / "stage", PARTS)
        assert (found["say"] if isinstance(found, dict) else found) == why
        assert not name or str(found["args"]["path"]).endswith(name)  # type: ignore[index, call-overload]
    finally:
        for path in read.rglob("*"):
            if path.is_file() and not (kept / path.relative_to(read)).exists():
                path.unlink()
        shutil.copytree(kept, read, dirs_exist_ok=True)


def test_a_temporary_folder_that_went_with_the_stage_is_its_own(tmp_path: Path) -> None:
    stage, gone, absent = tmp_path / "stage", tmp_path / "verify-1", tmp_path / "config.json"
    stage.mkdir()
    place = reuse.forget_reads(stage)
    lines = [
        FIELD.join(("d", str(gone), "40", "5")),
        FIELD.join(("r", str(gone / "a.json"), "4", "5")),
        FIELD.join(("r", str(absent), "-1", "0")),
    ]
    (place / "1").write_text("".join(line + END for line in lines))
    reuse.keep_dependencies(stage, PARTS)
    assert reuse.why_again(stage, PARTS) == ""
    absent.write_text("{}")
    assert reuse.why_again(stage, PARTS)["say"] == "reuse.new"  # type: ignore[index, call-overload]


def test_a_listed_folder_that_got_a_cache_is_still_watched(tmp_path: Path) -> None:
    data, stage = tmp_path / "data", tmp_path / "run" / "stage"
    data.mkdir()
    stage.mkdir(parents=True)
    listed = [FIELD.join(("d", str(one), "1", "1")) for one in (data, tmp_path)]
    (reuse.forget_reads(stage) / "1").write_text("".join(line + END for line in listed))
    (data / "labels.cache").touch()
    reuse.keep_dependencies(stage, PARTS)
    (tmp_path / "run-2").mkdir()  # of another run, beside this one
    assert reuse.why_again(stage, PARTS) == ""
    (data / "new.png").touch()
    why = reuse.why_again(stage, PARTS)
    assert why == {"say": "reuse.folder", "args": {"path": str(data)}}


def test_other_parts_are_named(read: Path) -> None:
    found = reuse.why_again(read / "run" / "stage", {**PARTS, "script": "2"})
    assert found == {"say": "reuse.parts", "args": {"what": [{"say": "reuse.part.script"}]}}


def test_of_a_large_file_size_and_time_decide(read: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = read / "run" / "stage"
    monkeypatch.setattr(reuse, "HASHED_BYTES", 0)
    reuse.keep_dependencies(stage, PARTS)
    before = (read / "data.txt").stat()
    os.utime(read / "data.txt", (1, 1))
    assert reuse.why_again(stage, PARTS)
    os.utime(read / "data.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not reuse.why_again(stage, PARTS)
    monkeypatch.undo()
    reuse.keep_dependencies(stage, PARTS)


@pytest.mark.parametrize("broken", ["lost", "many", "none", "half"])
def test_what_is_not_known_whole_is_run_again(tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = reuse.forget_reads(tmp_path)
    (place / "7").write_text("r\x1f/a\x1f-1\x1f-1\0r\x1f/b\x1f-1\x1f-1\0")
    reuse.keep_dependencies(tmp_path, PARTS)
    assert reuse.why_again(tmp_path, PARTS) == ""
    if broken == "lost":
        (place / f"8{LOST}").touch()
    if broken == "many":
        monkeypatch.setattr(reuse, "MOST_FILES", 1)
    reuse.keep_dependencies(tmp_path, PARTS)
    if broken == "none":
        (tmp_path / reuse.FILE).unlink()
    if broken == "half":
        (tmp_path / reuse.FILE).write_text((tmp_path / reuse.FILE).read_text()[:-9])
    assert reuse.why_again(tmp_path, PARTS) == reuse.UNKNOWN


def test_names_that_are_no_text(tmp_path: Path) -> None:
    (reuse.forget_reads(tmp_path) / "7").write_bytes(b"r\x1f/\xff\x1f\x1f-1\x1f-1\0")
    reuse.keep_dependencies(tmp_path, PARTS)
    assert reuse.why_again(tmp_path, PARTS) == ""
