"""Times to the nanosecond; broken files named with the place."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.errors import WorkbookError
from helpers.profiling.readers.events import Times, load, nanoseconds


@given(st.integers(-(10**16), 10**19))
def test_any_nanosecond_survives_as_microseconds_text(ns: int) -> None:
    assert nanoseconds(str(Decimal(ns) / 1000)) == ns
    assert nanoseconds(f"{'-' if ns < 0 else ''}{abs(ns) // 1000}.{abs(ns) % 1000:03d}") == ns


@given(st.integers(0, 10**16))
def test_whole_microseconds(us: int) -> None:
    assert nanoseconds(us) == nanoseconds(str(us)) == nanoseconds(f"{us}.0") == us * 1000


@pytest.mark.parametrize(
    ("text", "expected"),
    [("840.07675", 840077), ("0.02003125", 20), ("-0.5", -500), ("1.7e3", 1700000), ("12.5\t", 12500), ("3.", 3000)],
)
def test_forms_that_profilers_write(text: str, expected: int) -> None:
    assert nanoseconds(text) == expected


@pytest.mark.parametrize("text", ["", "abc", "NaN", "Infinity", None, "1,5", True, [1]])
def test_what_is_no_time(text: object) -> None:
    with pytest.raises(ValueError, match="not a time"):
        nanoseconds(text)


def test_a_float64_would_have_lost_it(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"ts": 1736408883688177.937, "dur": 0.001}]')
    event = load(path)[0]
    assert Times().of(event) == (1736408883688177937, 1)
    assert round(float(event["ts"]) * 1000) != 1736408883688177937


def test_what_is_left_out_is_counted() -> None:
    times = Times(base_ns=10)
    assert times.of({"ts": "1", "dur": "2"}) == (1010, 2000)
    assert times.of({"ts": "1"}) is None
    assert times.of({"ts": "x", "dur": 1}) is None
    assert times.of({"ts": "5", "dur": "-0.001"}) is None
    assert times.of({"ts": "-5", "dur": "1"}) is None
    assert times.left_out == {"no_time": 2, "negative_duration": 1, "time_out_of_range": 1}


@pytest.mark.parametrize(
    ("content", "key", "place"),
    [
        (b'{"traceEvents": [{"ts": 1}, {"na', "profiling.cut_short", {"line": 1, "byte": 29}),
        (b"", "profiling.cut_short", {"byte": 0}),
        (b'[{"ts": 1},\n {"ts" 2}]', "profiling.broken_json", {"line": 2, "column": 8}),
        (b'[{"name": "\xff\xfe"}]', "profiling.not_utf8", {"byte": 11}),
        (b'[{"name": "a\nb"}]', "profiling.broken_json", {"byte": 12}),
    ],
)
def test_a_broken_file_is_named_with_the_place(tmp_path: Path, content: bytes, key: str, place: dict[str, int]) -> None:
    path = tmp_path / "追踪.json"
    path.write_bytes(content)
    with pytest.raises(WorkbookError) as caught:
        load(path)
    assert caught.value.key == key
    assert caught.value.arguments["path"] == str(path)
    assert caught.value.arguments.items() >= place.items()
    assert "追踪.json" in caught.value.message("zh")
    assert caught.value.hint("zh")
    assert caught.value.hint("en")


@pytest.mark.parametrize("keep", [10, -4])
def test_a_gzip_cut_short(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents": []}' * 50)[:keep])
    with pytest.raises(WorkbookError) as caught:
        load(path)
    assert caught.value.key == "profiling.unreadable"


def test_a_gzip_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(b"[]")
    with pytest.raises(WorkbookError, match="gzip"):
        load(path)
