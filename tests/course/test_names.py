"""The list of names as people save it: every student is found, or it is told where the list is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from course.grading.sheet import names_in

WANTED = {"2041_late": "张三", "2042": "李 四"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk", "gb18030", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "，", "；"])
@pytest.mark.parametrize("heading", ["", "提交{}学生\r\n", "sep={}\r\n"])
def test_a_list_as_any_program_saves_it(tmp_path: Path, encoding: str, separator: str, heading: str) -> None:
    text = f'{heading.format(separator)}2041_late.ipynb{separator}张三\r\n\r\n"2042" {separator} 李 四 \r\n'
    (tmp_path / "names.csv").write_bytes(text.encode(encoding))
    assert names_in(tmp_path / "names.csv") == WANTED


def test_accents_are_written_in_one_way(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("Zoe\u0308.zip,Zoe\u0308\n", encoding="utf-8")
    assert names_in(tmp_path / "names.csv") == {"Zo\u00eb": "Zo\u00eb"}


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("a,ann\nb\n", "names", 2),
        ("a,ann\n,ben\n", "names", 2),
        ("a,ann\nb,\n", "names", 2),
        ("a,ann\nb,ben\na.zip,cy\n", "names_twice", 3),
        ('a,ann\nb,"ben\nc,"cy\n', "names", 3),
    ],
)
def test_a_line_that_is_wrong_is_told(tmp_path: Path, text: str, key: str, line: int) -> None:
    (tmp_path / "names.csv").write_text(text)
    with pytest.raises(WorkbookError) as told:
        names_in(tmp_path / "names.csv")
    assert (told.value.key, told.value.arguments["line"]) == (f"grading.{key}", line)


@pytest.mark.parametrize(
    "data",
    [
        b"PK\x03\x04...",
        b"\xd0\xcf\x11\xe0...",
        b"a,\xff\xff\xff\xff\n",
        b'a,ann\nb,"ben\nc,cy\n',
        b"a," + b"x" * 200_000,
    ],
)
def test_what_is_no_csv_is_told(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "names.csv").write_bytes(data)
    with pytest.raises(WorkbookError, match=r"names\.csv cannot be read as CSV") as told:
        names_in(tmp_path / "names.csv")
    assert "CSV UTF-8" in told.value.hint("zh")


def test_a_list_that_is_not_there(tmp_path: Path) -> None:
    assert names_in("") == {}
    with pytest.raises(WorkbookError, match="names"):
        names_in(tmp_path / "names.csv")
