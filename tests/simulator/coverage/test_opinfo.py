"""torch's operator database on the simulated NPU against the CPU: equal, or an error; never a silent other value.

About a minute: every float32 entry forward, every twelfth of each other data type and way to call. The whole table is
`ascend-workbook simulator coverage` and test_opinfo_full.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from ascend_simulator.coverage.entries import EXCLUDED, UNKNOWN
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.simulator.coverage import EVERYTHING, measure_coverage

#: Entries of which no sample passes in float32, and a part of the message that says why.
REFUSED = {
    "sparse.sampled_addmm": "SparseCsrnpu",
    "sparse.mm (reduce)": "SparseCsrnpu",
    "chalf": "Tensor self not implemented for DT_COMPLEX32",
}
FORWARD = ("forward", "float32")
SECOND = ("numpy", "float64")

Row = dict[str, Any]


def rows(report: Report) -> list[Row]:
    table = report.parts[0].table
    assert table
    return [dict(zip((column.name for column in table.columns), row)) for row in table.rows]


@pytest.fixture(scope="module")
def forward(simulator_env: dict[str, str]) -> Report:
    return measure_coverage([FORWARD], samples=4, workers=1, env=simulator_env)


@pytest.fixture(scope="module")
def elsewhere(simulator_env: dict[str, str]) -> Report:
    others = [found for found in EVERYTHING if found != FORWARD]
    return measure_coverage(others, every=12, samples=2, workers=1, env=simulator_env)


def named(found: list[Row], *outcomes: str) -> list[str]:
    return [
        f"{row['operator']} {row['direction']} {row['dtype']}: {row['outcome']}: {row['reason']}"
        for row in found
        if row["outcome"] in outcomes
    ]


def test_no_value_is_silently_different(forward: Report, elsewhere: Report) -> None:
    assert len(rows(forward)) > 600 and len(rows(elsewhere)) > 200
    assert named(rows(forward) + rows(elsewhere), "mismatch", "doubtful", "crashed") == []


def test_200_operators_are_held_against_numpy_beside_the_cpu(forward: Report) -> None:
    held = {kind: {row["operator"] for row in rows(forward) if row["second_reference"] == kind} for kind in SECOND}
    assert len(held["numpy"]) >= 200 and len(held["float64"]) > 200, {kind: len(names) for kind, names in held.items()}


def test_where_the_cpu_is_wrong_the_second_reference_decides(simulator_env: dict[str, str]) -> None:
    """torch.median along a dimension of an expanded tensor returns on the CPU what lies behind it."""
    report = measure_coverage([("expanded", "float32")], ["masked.median"], workers=1, env=simulator_env)
    (row,) = rows(report)
    assert (row["outcome"], row["second_reference"]) == ("equal", "float64") and "CPU's own kernel is wrong" in row[
        "reason"
    ]


def test_99_of_100_float32_entries_equal_the_cpu(forward: Report, capsys: pytest.CaptureFixture[str]) -> None:
    assert forward.table
    counts = dict(zip((column.name for column in forward.table.columns), forward.table.rows[0]))
    with capsys.disabled():
        print(f"\nOpInfo float32: {counts}")
    assert counts["coverage_percent"] >= 99.0, named(rows(forward), "raises")
    assert 0 < counts["outcome_alike"] <= 0.05 * len(rows(forward)), named(rows(forward), "alike")


def test_every_slice_is_reached_by_the_fixed_sample(elsewhere: Report) -> None:
    assert {(row["direction"], row["dtype"]) for row in rows(elsewhere)} == {*EVERYTHING} - {FORWARD}
    passed = [row for row in rows(elsewhere) if row["outcome"] in ("equal", "alike")]
    assert len(passed) >= 0.9 * len(rows(elsewhere)), named(rows(elsewhere), "raises", "refused")


def test_exclusions_are_few_and_known(forward: Report) -> None:
    skipped = [row["operator"] for row in rows(forward) if row["outcome"] == "skipped"]
    assert sorted(skipped) == sorted(EXCLUDED)
    assert len(skipped) <= 0.03 * len(rows(forward))


def test_what_is_refused_or_raises_says_why(forward: Report) -> None:
    found = {row["operator"]: row["reason"] for row in rows(forward) if row["outcome"] in ("raises", "refused")}
    assert {name: why for name, why in found.items() if REFUSED.get(name, "\0") not in why} == {}
    assert found.keys() == REFUSED.keys()


def test_what_ran_says_whether_the_hardware_is_known(forward: Report) -> None:
    support = {row["operator"]: row["dtype_support"] for row in rows(forward) if row["outcome"] == "equal"}
    assert set(support.values()) <= {"known", UNKNOWN, ""}
    ran = [name for name, known in support.items() if known]
    assert len(ran) > 0.9 * len(support), sorted(name for name, known in support.items() if not known)


def test_a_wrong_value_is_seen(simulator_env: dict[str, str]) -> None:
    """The check itself: with a fault of 1 % in one operator it names that operator and no other."""
    faulty = {**simulator_env, "ASCEND_WORKBOOK_SIM_FAULT": "aten::erf@*:scale=1.01; aten::uniform_@*:scale=1.3"}
    found = measure_coverage([FORWARD], ["erf", "erfc", "exp", "uniform"], workers=1, env=faulty)
    assert sorted(row["operator"] for row in rows(found) if row["outcome"] == "mismatch") == ["erf", "uniform"]
    assert found.status.json == "Fix"
