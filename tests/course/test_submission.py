"""Submissions are read as bytes within bounds: a hostile one is one clear error, and nothing of it reaches the disk."""

from __future__ import annotations

import json
import os
import stat
import sys
import zipfile
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from course.grading import submission as packing
from course.grading.submission import (
    Submission,
    cells_of,
    left_out,
    list_submissions,
    member_name,
    name_as_text,
    name_of,
    read_submission,
    same_person,
)

BOOK = json.dumps(
    {
        "cells": [
            {
                "cell_type": "code",
                "source": ["x = 1\n", "y = 2"],
                "metadata": {"tags": ["a"]},
                "outputs": [{"text": "完成"}],
            },
            {"cell_type": "markdown", "source": "# 一"},
        ],
        "nbformat": 4,
        "nbformat_minor": 5,
    }
)


def packed(path: Path, *members: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members:
            made.writestr(name, data)
    return path


def trouble(path: Path) -> str:
    with pytest.raises(WorkbookError) as caught:
        read_submission(path)
    return caught.value.key


def test_a_notebook_a_folder_and_a_zip_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(BOOK)
    (tmp_path / "李雷").mkdir()
    (tmp_path / "李雷" / "05_exercises.ipynb").write_text(BOOK)
    (tmp_path / "李雷" / "notes.ipynb").write_text("{}")
    packed(tmp_path / "c.zip", ("work/a.ipynb", BOOK.encode()), ("__MACOSX/a.ipynb", b""), ("b.py", b""))
    read_of = {path.name: read_submission(path) for path in list_submissions(tmp_path)}
    assert list(read_of) == ["a.ipynb", "c.zip", "李雷"]
    assert {each.notebook for each in read_of.values()} == {BOOK.encode()}
    assert cells_of(BOOK.encode()) == [{"source": "x = 1\ny = 2", "tags": ["a"]}]


def test_the_way_out_of_a_zip_leads_nowhere(tmp_path: Path) -> None:
    inside = tmp_path / "in" / "deep"
    inside.mkdir(parents=True)
    path = packed(inside / "a.zip", ("../../evil.ipynb", BOOK.encode()), ("/etc/evil.py", b"x"))
    assert read_submission(path).notebook == BOOK.encode()
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == ["a.zip"]


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MOST_BYTES", 1000)
    path = packed(tmp_path / "bomb.zip", ("a.ipynb", b"0" * 1001))
    assert trouble(path) == "grading.too_large"
    assert trouble(tmp_path / "a.ipynb") == "grading.unread"
    packed(tmp_path / "fits.zip", ("a.ipynb", b"0" * 1000))
    assert len(read_submission(tmp_path / "fits.zip").notebook) == 1000
    monkeypatch.setattr(packing, "MOST_MEMBERS", 2)
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


@pytest.mark.parametrize("how", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_that_was_damaged_is_one_clear_error(tmp_path: Path, how: int) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", how) as made:
        made.writestr("a.ipynb", BOOK * 9)
    data = bytearray(path.read_bytes())
    for at in range(46, 66):  # behind the header, 30 bytes and the name, and LZMA's own 9
        data[at] ^= 0x5A
    path.write_bytes(data)
    assert trouble(path) in ("grading.bad_zip", "grading.unread")


def test_none_or_several_notebooks(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    assert trouble(tmp_path / "none") == "grading.no_notebook"
    two = packed(tmp_path / "two.zip", ("a.ipynb", b"{}"), ("b.ipynb", b"{}"))
    assert trouble(two) == "grading.several"
    (tmp_path / "only").mkdir()
    with pytest.raises(WorkbookError, match="no submission is in"):
        list_submissions(tmp_path / "only")


THREE = json.dumps({"nbformat": 3, "worksheets": [{"cells": []}]}).encode()
BROKEN = [
    (b"", "empty", "0 bytes"),
    (b" \n\0", "empty", "3 bytes"),
    (BOOK.encode()[:-9], "cut", "breaks off at line 1"),
    (BOOK.encode()[:30], "cut", "whole notebook"),
    (b"hello", "json", "line 1, column 1"),
    (b"[1]", "kind", "cells"),
    (b'{"a": 1}', "kind", "place: cells"),
    (b'{"cells": 3}', "kind", "place: cells"),
    (b'{"cells": [{"cell_type": "code"}]}', "kind", "cells[0]"),
    (b"[" * 100_000, "kind", "JSON"),
    (b'{"cells": [], "x": ' + b"1" * 5000 + b"}", "kind", "JSON"),
    (THREE, "format", "format 3: expected format 4"),
    ('{"cells": ["练"]}'.encode("gbk"), "text", "byte 12"),
    (b"\xff\xfe\x00", "text", "UTF-8"),
]


@pytest.mark.parametrize(("data", "key", "said"), BROKEN, ids=[f"{key}{at}" for at, (_, key, _) in enumerate(BROKEN)])
def test_what_is_no_notebook_is_told_with_the_next_step(data: bytes, key: str, said: str) -> None:
    if data.endswith(b"1}") and not hasattr(sys, "get_int_max_str_digits"):
        pytest.skip("this Python reads any number")
    with pytest.raises(WorkbookError) as told:
        cells_of(data, "a/练.ipynb")
    assert told.value.key == f"grading.book_{key}" and said in told.value.message("en")
    for lang in ("en", "zh"):
        assert "a/练.ipynb" in told.value.message(lang) and told.value.hint(lang)
        assert "Error" not in told.value.message(lang)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_text_of_any_unicode_is_a_notebook(encoding: str) -> None:
    assert cells_of(BOOK.encode(encoding))[0]["tags"] == ["a"]


def test_a_zip_that_is_called_a_notebook_and_a_folder_too(tmp_path: Path) -> None:
    packed(tmp_path / "李雷.ipynb", ("a.ipynb", BOOK.encode()))
    (tmp_path / "韩梅.ipynb").mkdir()
    (tmp_path / "韩梅.ipynb" / "05_exercises (1).ipynb").write_text(BOOK)
    (tmp_path / "c.IPYNB").write_text(BOOK)
    found = list_submissions(tmp_path)
    assert [name_of(path) for path in found] == ["c", "李雷", "韩梅"]
    assert {read_submission(path).notebook for path in found} == {BOOK.encode()}


@pytest.mark.parametrize(("head", "kind"), [(b"Rar!\x1a", "RAR"), (b"7z\xbc\xaf\x27", "7z"), (b"\x1f\x8b", "gzip")])
def test_another_archive_is_named(tmp_path: Path, head: bytes, kind: str) -> None:
    (tmp_path / "a.zip").write_bytes(head + b"0" * 100)
    with pytest.raises(WorkbookError, match=f"a {kind} archive"):
        read_submission(tmp_path / "a.zip")


def as_packed(path: Path, name: bytes, flag: int = 0) -> Path:
    """A zip whose one member has these bytes for a name, as packers write them that know no flag."""
    kept = b"x" * len(name)
    packed(path, (kept.decode(), BOOK.encode()), ("__MACOSX/._x.ipynb", b"\0"), ("~$x.ipynb", b""), (".DS_Store", b""))
    path.write_bytes(path.read_bytes().replace(kept, name))
    return path


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("张三 作业/05_练习（1）.ipynb".encode("gbk"), "张三 作业/05_练习（1）.ipynb"),
        ("张三/05_练习.ipynb".encode(), "张三/05_练习.ipynb"),
        ("許功\\練.ipynb".encode("gbk"), "許功/練.ipynb"),
        ("Zoe\u0308/a.ipynb".encode(), "Zo\u00eb/a.ipynb"),
        (b"plain/a.ipynb", "plain/a.ipynb"),
    ],
    ids=["gbk", "utf-8", "backslash", "nfd", "ascii"],
)
def test_names_in_a_zip_of_any_system(tmp_path: Path, raw: bytes, name: str) -> None:
    path = as_packed(tmp_path / "a.zip", raw)
    with zipfile.ZipFile(path) as made:
        assert name in map(member_name, made.infolist())
    assert read_submission(path).inside == name and read_submission(path).notebook == BOOK.encode()


def test_a_record_below_a_folder_with_backslashes_is_found(tmp_path: Path) -> None:
    record = json.dumps({"tasks": {"env": {"tries": 2}}}).encode()
    path = packed(tmp_path / "a.zip", ("w\\a.ipynb", BOOK.encode()), ("w\\course.json", record))
    assert read_submission(path).claimed_tries() == {"env": 2}


def test_two_of_one_name_in_a_zip_are_two(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        path = packed(tmp_path / "a.zip", ("a.ipynb", BOOK.encode()), ("a.ipynb", b"{}"))
    assert trouble(path) == "grading.several"


def test_names_on_the_disk_are_text(tmp_path: Path) -> None:
    """A name in GBK, as `unzip` leaves it on Linux, and one of macOS."""
    path = tmp_path / os.fsdecode("张三.ipynb".encode("gbk"))
    path.write_text(BOOK)
    assert (name_as_text(path), name_of(path), read_submission(path).name) == ("张三.ipynb", "张三", "张三.ipynb")
    assert name_of(tmp_path / "Zoe\u0308.zip") == "Zo\u00eb"
    assert name_as_text(tmp_path / os.fsdecode(b"a\xff\xff\xff.ipynb")).startswith("a\\xff")


def test_what_systems_put_beside_is_nobodys_work(tmp_path: Path) -> None:
    nobodys = ("~$张三.ipynb", "._张三.ipynb", ".DS_Store", "Thumbs.db", "desktop.ini")
    for name in (*nobodys, "张三.ipynb", ".lisi.ipynb", "b.rar"):
        (tmp_path / name).write_text(BOOK)
    (tmp_path / "__MACOSX").mkdir()
    assert [path.name for path in list_submissions(tmp_path)] == ["张三.ipynb"]
    assert [path.name for path in left_out(tmp_path)] == [".lisi.ipynb", "b.rar"]


@pytest.mark.parametrize(
    ("declared", "student", "same"),
    [
        ("张三", "张三", True),
        ("张三", "张三 (1)", True),
        ("张三", "张三（2）", True),
        ("张三", "张三 - 副本", True),
        ("张三", "张三 - Copy (2)", True),
        ("Zoe\u0308", "Zo\u00eb", True),
        ("张三", "李四", False),
        ("", "", False),
        ("张三 (1)", "张三", False),
        ("张三 ", "张三", False),
        ("", "(1)", False),
        ("co", "co copy", True),
    ],
)
def test_the_name_in_the_notebook_and_the_files(declared: str, student: str, same: bool) -> None:
    assert same_person(declared, student) is same


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.ipynb")
    assert trouble(tmp_path / "a.ipynb") == "grading.unread"
    (tmp_path / "b").mkdir()
    os.mkfifo(tmp_path / "b" / "a.ipynb")
    assert trouble(tmp_path / "b") == "grading.no_notebook"


@pytest.mark.parametrize("record", [b"", b"[]", b'{"tasks": 1}', b'{"tasks": {"env": 1}}', b"[" * 100_000])
def test_tries_of_a_record_that_is_none(record: bytes) -> None:
    assert Submission("a", b"", record).claimed_tries() == {}


def test_tries_are_the_students_word() -> None:
    record = json.dumps({"tasks": {"env": {"tries": 3}, "script": {"tries": "many"}, "fault": {"tries": -1}}}).encode()
    assert Submission("a", b"", record).claimed_tries() == {"env": 3}
