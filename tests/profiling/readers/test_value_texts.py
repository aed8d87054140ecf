"""One way to write dtypes and call stacks, whoever wrote them."""

from __future__ import annotations

from typing import Any

import pytest

from ascend_workbook.profiling.readers.values import format_call_stack, format_dtypes


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (["float", "c10::BFloat16", "Scalar", ""], "float32 bfloat16"),
        (["float", "Int", "Bool", "Double", "GenericList", "TensorList"], "float32"),
        ("float;\r\nlong int;\r\nNone", "float32 int64"),
        ("FLOAT;INT64;DT_BF16;N/A", "float32 int64 bfloat16"),
        ('"FLOAT16;BOOL"', "float16 bool"),
        (None, ""),
        ("", ""),
        ([["float"]], ""),
    ],
)
def test_dtypes(told: Any, expected: str) -> None:
    assert format_dtypes(told) == expected


def test_call_stacks() -> None:
    assert format_call_stack('"/a.py(1): f;\r\nb.py(2): 主;"') == "/a.py(1): f\nb.py(2): 主"
    assert format_call_stack("a;b") == "a\nb"
    assert format_call_stack(None) == format_call_stack("") == ""
