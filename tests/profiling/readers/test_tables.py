"""A table that cannot be read is named with the reason, whichever reader opens it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.readers.tables import (
    KERNELS,
    LONGEST_CELL,
    count_replaced,
    count_rows,
    open_table,
    read_columns,
    read_kernel_table,
    read_kernels,
    read_rows,
)

READERS = (
    lambda path: read_rows(path, ("Name",)),
    lambda path: list(read_columns(path, "Name", "Duration(us)")),
    count_rows,
    lambda path: read_kernel_table(path.parent),
)
HEADING = b"Name,Duration(us)\n"


@pytest.mark.parametrize("read", READERS)
def test_what_cannot_be_read_is_named(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    path = tmp_path / KERNELS
    path.write_bytes(HEADING + b"a" * (LONGEST_CELL + 1) + b",1\n")
    with pytest.raises(WorkbookError) as told:
        read(path)
    assert told.value.key == "profiling.unreadable" and str(path) == told.value.arguments["path"]
    assert "field limit" in str(told.value.arguments["error"])


def test_bytes_that_are_no_text_are_replaced_and_counted(tmp_path: Path) -> None:
    path = tmp_path / KERNELS
    path.write_bytes(HEADING + b"a\xff\xfe,1\n\xe8\xbf\xbd,2\n\xe8\xbf,3\n")
    assert [row["Name"] for row in read_rows(path, ("Name",))] == ["a\ufffd\ufffd", "追", "\ufffd"]
    assert count_replaced(path) == 4
    path.write_bytes(HEADING + b"a,1\n\xe8")
    assert count_replaced(path) == 1
    assert count_replaced(tmp_path / "absent.csv") == 0


def test_a_file_that_is_absent_and_a_long_call_stack(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="No such file"), open_table(tmp_path / "absent.csv"):
        pass
    path = tmp_path / KERNELS
    path.write_bytes(b"\xef\xbb\xbf" + HEADING + b"k" * 200_000 + b",1\n")
    before = gc.isenabled()
    assert [len(row["Name"]) for row in read_rows(path, ("Name",))] == [200_000] and gc.isenabled() == before


@pytest.mark.parametrize("step, number", [("3", 3), ("", None), ("\u00b2", None), ("9" * 5000, None)])
def test_a_step_that_is_no_number_is_none(tmp_path: Path, step: str, number: int | None) -> None:
    path = tmp_path / KERNELS
    path.write_text(f"Step Id,Name,Start Time(us),Duration(us)\n{step},MatMul,5.0,1.5\n", encoding="utf-8")
    events, _ = read_kernels(path)
    assert [(event.step, event.duration_ns) for event in events] == [(number, 1500)]


def test_a_kernel_that_ends_before_it_begins_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / KERNELS
    path.write_text("Name,Start Time(us),Duration(us)\nMatMul,-5.0,1.5\nAdd,7.0,-0.5\n", encoding="utf-8")
    with pytest.raises(WorkbookError, match=r"kernel_details.*line 3.*Duration\(us\)"):
        read_kernels(path)
