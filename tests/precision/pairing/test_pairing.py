"""Pairing: by name where both runs call the same, aligned where one has calls the other lacks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_workbook.precision.pairing import Pairing, pair_runs
from ascend_workbook.precision.record import Operator, Run, TensorRecord


def run_of(calls: list[tuple[str, int]], backward: bool = True) -> Run:
    """A run with these calls: (API, elements of its output); call numbers as msprobe counts them."""
    counts: dict[str, int] = {}
    entries: list[tuple[str, int, str, int]] = []
    for api, size in calls:
        entries.append((api, counts.get(api, 0), "forward", size))
        counts[api] = counts.get(api, 0) + 1
    entries += [(api, call, "backward", size) for api, call, _, size in reversed(entries)] if backward else []
    operators = tuple(
        Operator(
            f"F.{api}.{call}.{way}", f"F.{api}", call, way, order, (), (TensorRecord("output.0", "float32", (size,)),)
        )
        for order, (api, call, way, size) in enumerate(entries)
    )
    return Run(Path("x"), 0, 0, "tensor", "L1", operators)


def names(pairing: Pairing) -> list[tuple[str, str]]:
    return [(found.target.name, found.baseline.name) for found in pairing.pairs]


CALLS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3)), max_size=12)


@given(CALLS)
def test_equal_runs_pair_completely_by_name(calls: list[tuple[str, int]]) -> None:
    found = pair_runs(run_of(calls), run_of(calls))
    assert all(left == right for left, right in names(found)) and len(found.pairs) == 2 * len(calls)
    assert not found.only_target and not found.only_baseline


@given(CALLS, CALLS)
def test_nothing_is_lost_and_nothing_paired_twice(left: list[tuple[str, int]], right: list[tuple[str, int]]) -> None:
    target, baseline = run_of(left), run_of(right)
    found = pair_runs(target, baseline)
    mine, theirs = [p.target.name for p in found.pairs], [p.baseline.name for p in found.pairs]
    assert sorted(mine + [op.name for op in found.only_target]) == sorted(target.by_name)
    assert sorted(theirs + [op.name for op in found.only_baseline]) == sorted(baseline.by_name)
    assert all(p.target.head == p.baseline.head and p.target.direction == p.baseline.direction for p in found.pairs)
    assert [p.order for p in found.pairs] == sorted(p.order for p in found.pairs)


def test_an_inserted_call_shifts_no_partner() -> None:
    """A further gelu in the target: the gelus behind it keep their partners although their numbers moved."""
    plain = [("linear", 1), ("gelu", 2), ("linear", 3), ("gelu", 4), ("linear", 5)]
    found = pair_runs(run_of(plain[:1] + [("gelu", 9)] + plain[1:]), run_of(plain))
    assert ("F.gelu.1.forward", "F.gelu.0.forward") in names(found)
    assert ("F.gelu.2.backward", "F.gelu.1.backward") in names(found)
    assert {op.name for op in found.only_target} == {"F.gelu.0.forward", "F.gelu.0.backward"}
    assert not found.only_baseline


def test_a_decomposed_operator_is_left_on_both_sides() -> None:
    found = pair_runs(run_of([("a", 1), ("mul", 2), ("erf", 2), ("c", 3)]), run_of([("a", 1), ("gelu", 2), ("c", 3)]))
    assert ("F.c.0.forward", "F.c.0.forward") in names(found)
    assert {op.api for op in found.only_target} == {"mul", "erf"}
    assert {op.api for op in found.only_baseline} == {"gelu"}


@pytest.mark.parametrize("extra", [[], [("z", 1)]])
def test_another_shape_is_still_a_partner(extra: list[tuple[str, int]]) -> None:
    """The shape may be what is wrong: it must be reported, not passed over as unpaired."""
    found = pair_runs(run_of([("a", 1), ("b", 7), ("c", 3), *extra]), run_of([("a", 1), ("b", 2), ("c", 3)]))
    assert ("F.b.0.forward", "F.b.0.forward") in names(found)
