"""Writes are whole or not at all; names stay inside the folder; schemes that nobody knows are refused in words."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage import LocalStorage, natural_key, open_storage, refuse_unwritable, write_file


def test_round_trip(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    storage.write_text("a/b.txt", "中文")
    assert storage.read_text("a/b.txt") == "中文" and storage.exists("a/b.txt")
    assert list(storage.list_files()) == ["a/b.txt"] and not storage.exists("c")


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "../root-2/evil"])
def test_a_name_stays_inside(tmp_path: Path, name: str) -> None:
    with pytest.raises(WorkbookError, match="leaves the folder"):
        open_storage(str(tmp_path / "root")).write_text(name, "x")


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path)
    with pytest.raises(WorkbookError, match="leaves the folder"):
        open_storage(str(tmp_path / "root")).read_text("link/secret")


def test_children_are_sorted_as_a_reader_would(tmp_path: Path) -> None:
    for name in ("step10/x", "step2/x", "a1b", "a"):
        open_storage(str(tmp_path)).write_text(name, "")
    assert list(open_storage(str(tmp_path)).list_children()) == ["a", "a1b", "step2/", "step10/"]
    assert list(open_storage(str(tmp_path)).list_children("step2")) == ["x"]
    assert not open_storage(str(tmp_path)).list_children("missing")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = open_storage(str(tmp_path))
    storage.write_text("a.txt", "old")

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        storage.write_text("a.txt", "new")
    assert storage.read_text("a.txt") == "old" and list(storage.list_files()) == ["a.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_other_schemes_say_so() -> None:
    with pytest.raises(WorkbookError, match="s3://"):
        open_storage("s3://bucket/prefix")


@pytest.mark.parametrize("path", ["obs://bucket/x.csv", Path("obs://bucket/x.csv"), "S3://b"])
def test_an_address_is_no_local_file(path: str | Path, tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="local file"):
        refuse_unwritable(path)
    refuse_unwritable(tmp_path / "obs:" / "x")
    refuse_unwritable("C:/x")


def test_a_full_disk_is_told_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, mode: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "chmod", full)
    with pytest.raises(OSError, match="No space left") as caught:
        LocalStorage(tmp_path).write_text("a/b.json", "x")
    assert caught.value.filename == str(tmp_path / "a" / "b.json") and not list((tmp_path / "a").iterdir())


def test_a_file_that_the_user_named_by_a_link_is_written_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "kept" / "file")
    write_file(tmp_path / "link", "一")
    write_file(tmp_path / "kept" / "other", b"2")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "kept" / "file").read_bytes() == "一".encode()
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"file", "other"}


def test_names_sort_by_numbers_of_any_length() -> None:
    long = "9" * 5000
    names = [f"step{long}", "step10", "step2", "step010", "a", "step1b", "step1"]
    assert sorted(names, key=natural_key) == ["a", "step1", "step1b", "step2", "step10", "step010", f"step{long}"]
