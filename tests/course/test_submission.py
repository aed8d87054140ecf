"""Submissions are read as bytes within bounds: a hostile one is one clear error, and nothing of it reaches the disk."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path

import pytest

from helpers.course.grading import submission
from helpers.course.grading.submission import Submission, cells_of, entries, read
from helpers.errors import WorkbookError

BOOK = json.dumps({"cells": [{"cell_type": "code", "source": ["x = 1\n", "y = 2"], "metadata": {"tags": ["a"]},
                              "outputs": [{"text": "完成"}]}, {"cell_type": "markdown", "source": "# 一"}],
                   "nbformat": 4, "nbformat_minor": 5})  # fmt: skip


def packed(path: Path, *members: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members:
            made.writestr(name, data)
    return path


def trouble(path: Path) -> str:
    with pytest.raises(WorkbookError) as caught:
        read(path)
    return caught.value.key


def test_a_notebook_a_folder_and_a_zip_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(BOOK)
    (tmp_path / "李雷").mkdir()
    (tmp_path / "李雷" / "05_exercises.ipynb").write_text(BOOK)
    (tmp_path / "李雷" / "notes.ipynb").write_text("{}")
    packed(tmp_path / "c.zip", ("work/a.ipynb", BOOK.encode()), ("__MACOSX/a.ipynb", b""), ("b.py", b""))
    read_of = {path.name: read(path) for path in entries(tmp_path)}
    assert list(read_of) == ["a.ipynb", "c.zip", "李雷"]
    assert {each.notebook for each in read_of.values()} == {BOOK.encode()}
    assert cells_of(BOOK.encode()) == [{"source": "x = 1\ny = 2", "tags": ["a"]}]


def test_the_way_out_of_a_zip_leads_nowhere(tmp_path: Path) -> None:
    inside = tmp_path / "in" / "deep"
    inside.mkdir(parents=True)
    path = packed(inside / "a.zip", ("../../evil.ipynb", BOOK.encode()), ("/etc/evil.py", b"x"))
    assert read(path).notebook == BOOK.encode()
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == ["a.zip"]


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "MOST_BYTES", 1000)
    path = packed(tmp_path / "bomb.zip", ("a.ipynb", b"0" * 1001))
    assert trouble(path) == "grading.too_large"
    assert trouble(tmp_path / "a.ipynb") == "command.file"
    packed(tmp_path / "fits.zip", ("a.ipynb", b"0" * 1000))
    assert len(read(tmp_path / "fits.zip").notebook) == 1000
    monkeypatch.setattr(submission, "MOST_MEMBERS", 2)
    many = packed(tmp_path / "many.zip", *((f"{each}.txt", b"") for each in range(3)))
    assert trouble(many) == "grading.members"


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.ipynb").write_text(BOOK)
    (tmp_path / "a.ipynb").symlink_to(tmp_path / "secret.ipynb")
    assert trouble(tmp_path / "a.ipynb") == "grading.link"
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.ipynb").symlink_to(tmp_path / "secret.ipynb")
    assert trouble(tmp_path / "b") == "grading.link"
    member = zipfile.ZipInfo("a.ipynb")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as made:
        made.writestr(member, str(tmp_path / "secret.ipynb"))
    assert trouble(tmp_path / "c.zip") == "grading.link"


@pytest.mark.parametrize(
    ("name", "data", "key"),
    [("a.zip", b"PK\x03\x04 and no more", "grading.bad_zip"), ("b.zip", b"", "grading.bad_zip")],
)
def test_a_broken_zip_is_one(tmp_path: Path, name: str, data: bytes, key: str) -> None:
    (tmp_path / name).write_bytes(data)
    assert trouble(tmp_path / name) == key


def test_none_or_several_notebooks(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    assert trouble(tmp_path / "none") == "grading.no_notebook"
    two = packed(tmp_path / "two.zip", ("a.ipynb", b"{}"), ("b.ipynb", b"{}"))
    assert trouble(two) == "grading.several"
    (tmp_path / "only").mkdir()
    with pytest.raises(WorkbookError, match="no submission is in"):
        entries(tmp_path / "only")


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"[1]", b'{"cells": 3}', b'{"cells": [{"cell_type": "code"}]}',
                                  b"[" * 100_000])  # fmt: skip
def test_what_is_no_notebook_is_told(data: bytes) -> None:
    with pytest.raises(WorkbookError, match="cannot be read"):
        cells_of(data)


@pytest.mark.parametrize("record", [b"", b"[]", b'{"tasks": 1}', b'{"tasks": {"env": 1}}', b"[" * 100_000])
def test_tries_of_a_record_that_is_none(record: bytes) -> None:
    assert Submission("a", b"", record).claimed_tries() == {}


def test_tries_are_the_students_word() -> None:
    record = json.dumps({"tasks": {"env": {"tries": 3}, "script": {"tries": "many"}}}).encode()
    assert Submission("a", b"", record).claimed_tries() == {"env": 3}
