"""Runs are told as of one cause exactly where what failed is the same."""

from __future__ import annotations

import pytest

from ascend_workbook.batch.campaign.ended import RED, Ended
from ascend_workbook.batch.results.rows import StageRow, cause_of
from ascend_workbook.findings.sentence import Scalar

SHAPES = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x32 and 16x8)"
MISSING = "FileNotFoundError: [Errno 2] No such file or directory: '/data/a/train.npz'"


def cause(run: Scalar) -> str:
    """Of a migration whose dry run said so."""
    scan: Scalar = {"say": "report.not_looked"}
    joined: Scalar = {"say": "MIG150.joined", "args": {"scan": scan, "run": run}}
    red: Scalar = {"say": "RUN400.red", "args": {"verdict": joined}}
    return cause_of(Ended("a", RED, "Fix", red), StageRow("migration", "red", "Fix", red))


def failed(error: str, key: str = "launch.failed") -> Scalar:
    why: Scalar = {"say": key, "args": {"error": error, "place": "", "code": 1, "steps": 0}}
    return {"say": "MIG140.failed", "args": {"side": {"say": "migration.side.baseline"}, "why": why}}


def test_scripts_that_failed_differently_have_two_causes() -> None:
    assert cause(failed(SHAPES)) != cause(failed(MISSING))
    assert cause(failed(SHAPES)).startswith("verdict:launch.failed:RuntimeError: mat# and mat# shapes")


@pytest.mark.parametrize(
    "one, other",
    [
        (failed(SHAPES), failed(SHAPES.replace("4x32", "8x64"))),
        (failed(MISSING), failed(MISSING.replace("/a/", "/b/"))),
        (failed(SHAPES), failed(SHAPES, "launch.failed_known")),
        (failed(SHAPES), failed(f"{SHAPES}\nmore of it")),
    ],
)
def test_the_same_failure_is_one_cause_whatever_passes(one: Scalar, other: Scalar) -> None:
    assert cause(one) == cause(other)


def test_a_run_that_did_not_fail_is_told_from_others_by_what_it_said() -> None:
    said: list[Scalar] = [{"say": f"MIG140.{key}", "args": {}} for key in ("steps_differ", "off_npu")]
    assert [cause(one) for one in said] == [f"verdict:MIG150.joined:{one['say']}" for one in said]  # type: ignore[index,call-overload]
