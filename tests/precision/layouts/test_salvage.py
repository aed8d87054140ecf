"""What stands whole before the damage is read as it was, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_workbook.precision.layouts.msprobe import whole

KEYS = st.text(max_size=3)
LEAVES = st.none() | st.integers() | st.floats(allow_nan=False) | KEYS
VALUES = LEAVES | st.lists(LEAVES, max_size=2) | st.dictionaries(KEYS, LEAVES, max_size=2)
ENTRIES = st.dictionaries(KEYS, VALUES, max_size=5)


@settings(max_examples=60, deadline=None)
@given(ENTRIES, st.integers(0, 400), st.sampled_from([None, 1]), st.sampled_from(["", "\0\0\0", '"']))
def test_a_cut_dump_gives_a_prefix_of_its_entries(data: Any, cut: int, indent: int | None, tail: str) -> None:
    text = json.dumps({"task": "tensor", "data": data}, indent=indent)
    found = whole(text[:cut] + tail if cut < len(text) else text)
    entries = list(found.get("data", {}).items())
    assert entries == list(data.items())[: len(entries)]
    if cut >= len(text):
        assert found == {"task": "tensor", "data": data}


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    assert isinstance(whole(text), dict)


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"data"', '{"data":', '{"data":[1]}', '{"data":{"a":1', "[" * 100_000, '{"a":' * 100_000, "{1:2}"],
)
def test_no_whole_entry(text: str) -> None:
    assert not whole(text).get("data")
