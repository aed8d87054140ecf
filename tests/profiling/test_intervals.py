"""Interval sets against a bitmap: slow, plain, and hard to get wrong."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ascend_workbook.profiling.intervals import EMPTY, Intervals

END = 60
PAIRS = st.lists(st.tuples(st.integers(0, END), st.integers(0, END)), max_size=12)


def made(pairs: list[tuple[int, int]]) -> Intervals:
    columns = np.array(pairs, np.int64).reshape(-1, 2)
    return Intervals.union_of(columns[:, 0], columns[:, 1])


def bits(pairs: list[tuple[int, int]]) -> np.ndarray:
    field = np.zeros(END + 1, bool)
    for start, end in pairs:
        field[start:end] = True
    return field


def bits_of(intervals: Intervals) -> np.ndarray:
    return bits(list(zip(intervals.start_ns.tolist(), intervals.end_ns.tolist())))


@given(PAIRS)
def test_a_union_covers_what_any_covers(pairs: list[tuple[int, int]]) -> None:
    assert (bits_of(made(pairs)) == bits(pairs)).all()


@given(PAIRS)
def test_a_union_is_sorted_and_disjoint(pairs: list[tuple[int, int]]) -> None:
    union = made(pairs)
    assert (union.end_ns > union.start_ns).all()
    assert (union.start_ns[1:] > union.end_ns[:-1]).all()


@given(PAIRS)
def test_length(pairs: list[tuple[int, int]]) -> None:
    assert made(pairs).length_ns == bits(pairs).sum()


@given(PAIRS, PAIRS)
def test_together_and_common(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    one, other = made(left), made(right)
    assert (bits_of(one | other) == bits(left + right)).all()
    assert one.common_ns(other) == (bits(left) & bits(right)).sum() == other.common_ns(one)


@given(PAIRS, st.integers(0, END), st.integers(0, END))
def test_gaps_and_what_is_within_make_the_window(pairs: list[tuple[int, int]], one: int, other: int) -> None:
    start, end = min(one, other), max(one, other)
    union = made(pairs)
    gaps = union.gaps_in(*np.array([[start], [end]], np.int64))
    window = bits([(start, end)])
    assert (bits_of(union.clip_to(start, end)) == (bits(pairs) & window)).all()
    assert (bits_of(gaps) == (~bits(pairs) & window)).all()
    assert gaps.length_ns + union.clip_to(start, end).length_ns == end - start


@given(PAIRS, st.lists(st.integers(0, END), max_size=8))
def test_covers(pairs: list[tuple[int, int]], moments: list[int]) -> None:
    found = made(pairs).cover_moments(np.array(moments, np.int64))
    assert found.tolist() == [bool(bits(pairs)[moment]) for moment in moments]


@given(PAIRS, st.lists(st.integers(0, END), max_size=8))
def test_covered_before(pairs: list[tuple[int, int]], moments: list[int]) -> None:
    found = made(pairs).before_ns(np.array(moments, np.int64))
    assert found.tolist() == [bits(pairs)[:moment].sum() for moment in moments]


@given(PAIRS, st.lists(st.integers(0, END), max_size=8))
def test_the_gaps_of_many_windows_are_those_of_each(pairs: list[tuple[int, int]], borders: list[int]) -> None:
    edges = sorted(borders)
    windows = list(zip(edges, edges[1:]))  # they meet, and some are empty
    found = made(pairs).gaps_in(*np.array(windows, np.int64).reshape(-1, 2).T)
    each = [~bits(pairs) & bits([window]) for window in windows]
    flags = [[False, *one.tolist(), False] for one in each]
    borders_of = [[at for at, (one, next_one) in enumerate(zip(of, of[1:])) if one != next_one] for of in flags]
    assert found.start_ns.tolist() == [at for one in borders_of for at in one[::2]]
    assert found.end_ns.tolist() == [at for one in borders_of for at in one[1::2]]


def test_touching_intervals_are_joined() -> None:
    assert made([(0, 5), (5, 9)]).start_ns.tolist() == [0]


def test_nothing() -> None:
    assert made([(5, 5), (7, 3)]).length_ns == EMPTY.length_ns == 0


def test_nanoseconds_of_an_epoch_do_not_round() -> None:
    epoch = 1_736_408_883_000_000_001
    assert made([(epoch, epoch + 1)]).length_ns == 1
