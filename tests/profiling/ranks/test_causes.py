"""Which rank keeps a run from being faster. Simulated ranks take turns on one CPU: their work is counted, not timed."""

from __future__ import annotations

from typing import Any

from ascend_workbook.findings.report import Report
from ascend_workbook.profiling.ranks.causes import find_rank_causes
from tests.profiling.ranks.conftest import make_rank, together

SIMULATED = {"simulated": True}
LOGGING = {"kind": "logging", "where": "train.py:7 main", "spent_ns": 3e6, "share": 0.03, "evidence": {}}


def report(work: dict[str, float], *causes: dict[str, Any], below: dict[str, float] = {}) -> Report:  # noqa: B006
    part = Report("profiling", "causes", (), facts={"causes": list(causes), "work": work, "work_below": below})
    return Report("profiling", "analyse", (), parts=(part,))


def found(*reports: Report, **more: Any) -> list[dict[str, Any]]:
    ranks = (make_rank(rank, computing=20.0 + 30 * rank, communication=40, more=more) for rank in range(len(reports)))
    return find_rank_causes(together(*ranks), (), dict(enumerate(reports)))  # type: ignore[return-value]


def test_a_simulated_rank_that_works_on_more_is_named_at_the_line_that_differs() -> None:
    (told,) = found(report({"a.py:3": 100, "a.py:9": 50}), report({"a.py:3": 101, "a.py:9": 400}), **SIMULATED)
    assert (told["kind"], told["where"]) == ("rank_computing", "a.py:9, rank 1")
    assert told["evidence"].args["times"] == 3.3
    assert [told["evidence"].text(lang) for lang in ("en", "zh")] != ["", ""]


def test_work_that_one_rank_alone_does_is_told_at_the_innermost_line_that_it_alone_comes_to() -> None:
    usual = {"a.py:50 main": 150.0, "a.py:3 forward": 100.0}
    more = {"a.py:50 main": 150.0, "a.py:55 main": 350.0, "a.py:32 evaluate": 340.0, "a.py:30 evaluate": 10.0}
    reports = (report({"a.py:3 forward": 150}, below=usual), report({"a.py:3 forward": 490}, below={**usual, **more}))
    (told,) = found(*reports, **SIMULATED)
    assert (told["kind"], told["where"]) == ("rank_computing", "a.py:32 evaluate, rank 1")


def test_simulated_ranks_that_work_alike_are_not_told_apart_by_their_times() -> None:
    assert found(report({"a.py:3": 100}), report({"a.py:3": 124}), **SIMULATED) == []


def test_a_simulated_rank_whose_host_alone_has_a_cause_is_named_with_its_line() -> None:
    told, *_ = found(report({"a.py:3": 100}), report({"a.py:3": 100}, LOGGING), **SIMULATED)
    assert (told["kind"], told["where"], told["spent_ns"]) == ("rank_host", "train.py:7 main, rank 1", 3e6)
    other = {**LOGGING, "where": "train.py:8 main", "kind": "communication"}
    causes = found(report({"a.py:3": 100}, other), report({"a.py:3": 100}, LOGGING), **SIMULATED)
    assert "logging" in [cause["kind"] for cause in causes], "with what it is, whichever rank waits least"
    both = found(report({"a.py:3": 100}, LOGGING), report({"a.py:3": 100}, LOGGING), **SIMULATED)
    assert [cause["kind"] for cause in both] == ["logging"]
