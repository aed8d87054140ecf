"""Times to the nanosecond, one by one and many at once."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_workbook.profiling.readers.values import LIMIT, NO_TIME, OUT_OF_RANGE, nanoseconds_of, to_nanoseconds


def many(*texts: str) -> list[int]:
    return nanoseconds_of([json.loads(text, parse_float=str) if text else None for text in texts]).tolist()


@given(st.integers(-(10**16), 10**19))
def test_any_nanosecond_survives_as_microseconds_text(ns: int) -> None:
    assert to_nanoseconds(str(Decimal(ns) / 1000)) == ns
    assert to_nanoseconds(f"{'-' if ns < 0 else ''}{abs(ns) // 1000}.{abs(ns) % 1000:03d}") == ns


@given(st.integers(0, 10**16))
def test_whole_microseconds(us: int) -> None:
    assert to_nanoseconds(us) == to_nanoseconds(str(us)) == to_nanoseconds(f"{us}.0") == us * 1000


@pytest.mark.parametrize(
    ("text", "expected"),
    [("840.07675", 840077), ("0.02003125", 20), ("-0.5", -500), ("1.7e3", 1700000), ("12.5\t", 12500), ("3.", 3000)],
)
def test_forms_that_profilers_write(text: str, expected: int) -> None:
    assert to_nanoseconds(text) == expected
    assert many("1.5", json.dumps(text), "2") == [1500, expected, 2000]


@pytest.mark.parametrize("text", ["", "abc", "NaN", "Infinity", None, "1,5", True, [1]])
def test_what_is_no_time(text: object) -> None:
    with pytest.raises(ValueError, match="not a time"):
        to_nanoseconds(text)
    assert many("1.5", json.dumps(text), "2") == [1500, NO_TIME, 2000]


@pytest.mark.parametrize("text", ["1e999999", "1e4001234567890", "-2e17"])
def test_what_is_far_away_is_out_of_range(text: str) -> None:
    assert many("1.5", json.dumps(text), "2") == [1500, OUT_OF_RANGE, 2000]


def test_a_float64_would_have_lost_it() -> None:
    text = "1736408883688177.937"
    assert many(text, f'"{text}"') == [1736408883688177937] * 2
    assert round(float(text) * 1000) != 1736408883688177937


@given(st.lists(st.tuples(st.integers(0, 10**22), st.integers(0, 3), st.booleans()), min_size=1, max_size=20))
def test_many_at_once_are_those_one_by_one(times: list[tuple[int, int, bool]]) -> None:
    texts, expected = [], []
    for number, places, quoted in times:
        text = f"{number // 10**places}" + (f".{number % 10**places:0{places}d}" if places else "")
        texts.append(f'"{text}"' if quoted else text)
        ns = to_nanoseconds(text)
        expected.append(ns if ns < LIMIT else OUT_OF_RANGE)
    assert many(*texts) == expected


def test_absent_and_none() -> None:
    assert many() == []
    assert many("", "null", "12") == [NO_TIME, NO_TIME, 12000]
    assert many("1e30") == [OUT_OF_RANGE]
