"""A piece of a trace that ends between a name's colon and the blank behind it spoils nothing that follows. 1 s."""

from __future__ import annotations

import pytest

from ascend_workbook.machine import native
from ascend_workbook.profiling.readers.native import scanner

EVENT = b'{\n  "ph": "X",\n  "name": "aten::add",\n  "pid": 9,\n  "tid": 1,\n  "ts": 5,\n  "dur": 2\n}'


def scan(reader: scanner.Scanner, text: bytes) -> int:
    return reader.scan_events(bytearray(text + b"\0"), len(text), False)[0]


@pytest.mark.skipif(native.load_library(scanner.SOURCE).library is None, reason="no compiler")
@pytest.mark.parametrize("name", [b'"ph":', b'"name":', b'"dur":'])
def test_a_piece_that_ends_behind_a_colon(name: bytes) -> None:
    reader, whole = scanner.Scanner(), EVENT + b" " * 64
    assert scan(reader, EVENT[: EVENT.index(name) + len(name)]) == 0
    assert scan(reader, whole) == len(EVENT)
