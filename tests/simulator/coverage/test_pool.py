"""A child that dies or hangs costs its entry; the rest goes on. Percentages count what is said they count."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ascend_simulator.coverage import pool
from ascend_simulator.coverage.entries import (
    UNKNOWN,
    Entry,
    Request,
    State,
    count_outcomes,
    dtype_support,
    operator_states,
)
from ascend_simulator.errors import SimulatorError
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.machine.simulator.coverage import make_report, measure_coverage

FAKE = """
import json, os, sys, time
if "--list" in sys.argv:
    print(json.dumps({"entries": [], "operators": ""}), flush=True)
for line in sys.stdin:
    number = json.loads(line)["entry"]
    if number == 1:
        os.abort()
    if number == 2:
        time.sleep(60)
    if number == 3:
        print("Fatal Python error: of ours", file=sys.stderr)
        sys.exit(7)
    print(json.dumps({"outcome": "equal", "reason": "", "operators": [f"aten::{number}"]}), flush=True)
"""


def request(number: int, direction: str = "forward", dtype: str = "float32") -> Request:
    return Request(number, number, f"op{number}", "", direction, dtype, 1)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "worker.py"
    path.write_text(FAKE, encoding="utf-8")
    monkeypatch.setattr(pool, "WORKER", path)
    monkeypatch.setattr(pool, "TIMEOUT_S", 3.0)
    return path


@pytest.mark.parametrize("workers", [1, 2])
def test_an_entry_that_ends_its_child_is_named_and_the_rest_goes_on(fake: Path, workers: int) -> None:
    with pool.Pool({**os.environ}, workers) as children:
        assert children.list_entries() == {"entries": [], "operators": ""}
        found = {
            entry.request.number: entry for entry in children.run_requests([request(number) for number in range(6)])
        }
    assert {number for number, entry in found.items() if entry.outcome == "crashed"} == {1, 2, 3}
    assert found[1].reason.startswith("SIGABRT") and found[2].reason.startswith("SIGKILL")
    assert found[3].reason == "exit code 7: Fatal Python error: of ours"
    assert found[5].passed and found[5].operators == ("aten::5",)


def test_a_simulator_that_does_not_start_is_one_clear_error(fake: Path) -> None:
    fake.write_text("raise SystemExit('no such device')", encoding="utf-8")
    with pool.Pool({**os.environ}, 1) as children, pytest.raises(SimulatorError, match="no such device"):
        children.list_entries()
    with pytest.raises(WorkbookError, match="no such device"):
        measure_coverage(workers=1, env={**os.environ})


def test_percentages_leave_out_what_the_npu_refuses_and_what_has_no_cpu_result() -> None:
    outcomes = ("equal", "equal", "alike", "refused", "skipped", "raises")
    (found,) = count_outcomes(Entry(request(number), outcome, "") for number, outcome in enumerate(outcomes))
    assert (found.entries, found.passed, found.judged) == (6, 3, 4)
    assert (found.percent, found.percent_of_all) == (75.0, 60.0)
    assert not found.reaches_bar and found.silently_wrong == 0
    bad = ("mismatch", "crashed", "doubtful")
    (wrong,) = count_outcomes(Entry(request(0, dtype="int64"), outcome, "") for outcome in bad)
    assert wrong.silently_wrong == 3 and wrong.percent == 0.0


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        (("refused", "skipped"), Status.NOT_LOOKED),
        (("refused", "equal"), Status.GOOD),
        (("skipped", "raises"), Status.FIX),
    ],
)
def test_where_nothing_could_be_compared_nothing_is_good(outcomes: tuple[str, ...], status: Status) -> None:
    entries = [Entry(request(number), outcome, "") for number, outcome in enumerate(outcomes)]
    report = make_report(entries, {}, 1)
    assert report.status is status and report.headline
    assert (report.headline.key == "coverage.nothing") is (status is Status.NOT_LOOKED)


def test_no_call_at_all_is_not_told_as_one_that_the_npu_refuses() -> None:
    (finding,) = make_report([], {}, 1).findings
    assert (finding.status, finding.key) == (Status.NOT_LOOKED, "coverage.empty")
    assert "0" not in finding.message("en") and "--operator" in finding.hint("zh")


def test_a_slice_of_which_nothing_could_be_compared_is_named() -> None:
    refused = [Entry(request(number, dtype="int64"), "refused", "") for number in range(3)]
    free = [Entry(request(3, "out", "bool"), "refused", "")]  # no bar is set for it
    report = make_report([*refused, *free, Entry(request(4), "equal", "")], {}, 1)
    told = {finding.key: finding for finding in report.findings}
    assert report.status is Status.NOT_LOOKED and told["coverage.good"].status is Status.GOOD
    assert told["coverage.unjudged"].args == {"slices": "forward int64"}
    wrong = {finding.key for finding in make_report([*refused, Entry(request(4), "mismatch", "")], {}, 1).findings}
    assert wrong == {"coverage.wrong", "coverage.unjudged"}


def test_dtype_support_is_known_only_where_it_is_for_all_that_computed() -> None:
    lines = ("aten::a simulated aclnnA", "aten::b simulated unknown", "aten::view torch_npu -", "aten::c simulated")
    states = operator_states("\n".join(lines))
    assert states["aten::a"] == State("simulated", "aclnnA") and states["aten::c"].dtypes == ""
    support = [
        dtype_support(Entry(request(0), "equal", "", names), states)
        for names in (("aten::a", "aten::view"), ("aten::a", "aten::b"), ("aten::view",), ("aten::elsewhere",), ())
    ]
    assert support == ["known", UNKNOWN, UNKNOWN, UNKNOWN, ""]
