"""A table that cannot be read is named with the reason, whichever reader opens it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.errors import WorkbookError
from helpers.profiling.readers.csv_files import LONGEST_CELL, opened
from helpers.profiling.readers.kernel_table import kernel_table
from helpers.profiling.readers.tables import KERNELS, columns, count, rows

READERS = (lambda path: rows(path, ("Name",)), lambda path: list(columns(path, "Name", "Duration(us)")), count,
           lambda path: kernel_table(path.parent))  # fmt: skip
HEADING = b"Name,Duration(us)\n"


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\xff\xfe,1\n", "codec"), (b"a" * (LONGEST_CELL + 1) + b",1\n", "field limit")],
    ids=["no text", "an endless cell"],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, read: Callable[[Path], Any], content: bytes, said: str
) -> None:
    path = tmp_path / KERNELS
    path.write_bytes(HEADING + content)
    with pytest.raises(WorkbookError) as told:
        read(path)
    assert told.value.key == "profiling.unreadable" and str(path) == told.value.arguments["path"]
    assert said in str(told.value.arguments["error"])


def test_a_file_that_is_absent_and_a_long_call_stack(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="No such file"), opened(tmp_path / "absent.csv"):
        pass
    path = tmp_path / KERNELS
    path.write_bytes(b"\xef\xbb\xbf" + HEADING + b"k" * 200_000 + b",1\n")
    before = gc.isenabled()
    assert [len(row["Name"]) for row in rows(path, ("Name",))] == [200_000] and gc.isenabled() == before
