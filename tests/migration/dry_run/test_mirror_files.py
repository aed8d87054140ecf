"""What a training writes does not reach the user's own files; where it could, it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.migration.dry_run import mirror
from ascend_workbook.migration.dry_run.mirror import Copies, list_changed_files, make_mirror, record_state


@pytest.fixture
def script(tmp_path: Path) -> Path:
    user = tmp_path / "user"
    for name, size in {"out/ckpt.pt": 100, "data/train.bin": 5_000, "many/0.txt": 1, ".git/HEAD": 9}.items():
        (user / name).parent.mkdir(parents=True, exist_ok=True)
        (user / name).write_bytes(b"x" * size)
    for number in range(1, 30):
        (user / "many" / f"{number}.txt").write_text("x")
    (tmp_path / "disk").mkdir()
    (user / "elsewhere").symlink_to(tmp_path / "disk", target_is_directory=True)
    (user / "train.py").write_text("import torch\n")
    return user / "train.py"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "LARGEST_COPY_BYTES", 1_000)
    monkeypatch.setattr(mirror, "ENTRIES_OF_A_FOLDER", 20)


def test_what_is_small_is_a_copy_and_data_is_a_link(script: Path, tmp_path: Path, small: None) -> None:
    work = tmp_path / "work"
    (script.parent / ".ascend-workbook.json").write_text("{}")
    _, copies = make_mirror(script, work, {})
    assert [path.name for path in copies.left_out] == [".git"], "our own mark is not worth a word"
    links = {path.relative_to(work).as_posix() for path in (*work.iterdir(), *work.glob("*/*")) if path.is_symlink()}
    assert links == {"data/train.bin", "many", "elsewhere"}
    (work / "out" / "ckpt.pt").write_bytes(b"new")
    assert script.with_name("out").joinpath("ckpt.pt").read_bytes() == b"x" * 100


def test_a_change_through_a_link_is_seen(script: Path, tmp_path: Path, small: None) -> None:
    work = tmp_path / "work"
    make_mirror(script, work, {})
    before = record_state(work)
    assert list_changed_files(before) == []
    (work / "data" / "train.bin").write_bytes(b"y" * 5_001)
    (work / "many" / "log.txt").write_text("x")
    user = script.parent.resolve()
    assert list_changed_files(before) == [user / "data" / "train.bin", user / "many"]


def test_all_copies_together_have_a_limit(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = Copies(bytes_left=150)
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"x" * 100)
    assert copies.take_file(tmp_path / "a", tmp_path / "c") and not copies.take_file(tmp_path / "b", tmp_path / "d")
    assert not (tmp_path / "d").exists()
