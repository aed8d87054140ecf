"""The whole command on one training: what `align` names first, an operator or a stage beside them, and neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.finding import Status
from benchmarks.matrix.replaying import in_this_process
from tests.precision.state import running, whole
from tests.precision.state.cases import WORKING, Case, half_of
from tests.precision.state.whole import Named, Struck, judge_case, judge_named


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whole")


@pytest.mark.parametrize(
    ("fault", "operator", "noise", "outcome"),
    [
        ("scaled by 1.02", "Functional.linear.1", "ulp", "right"),
        ("eps inside the root", "", "ulp", "right"),
        ("", "", "update", "quiet"),
    ],
)
def test_an_operator_a_stage_and_nothing(root: Path, fault: str, operator: str, noise: str, outcome: str) -> None:
    struck = Struck(Case("rms", fault, 1, noise, WORKING), "tensor", operator)
    with in_this_process():
        judged, words = judge_case(struck, root)
    assert judged == outcome, words


@pytest.mark.parametrize(
    ("recipe", "fault", "operator", "named"),
    [
        ("moe", "backward stale", "Functional.linear.5", "Functional.linear.5.backward"),
        ("gru", "backward stale", "Functional.linear.1", "Functional.linear.1.backward"),
        ("gpt", "backward scaled by 1.02", "Functional.linear.0", "Functional.linear.0.backward"),
        ("moe", "backward stale", "Functional.linear.11", "Functional.linear.11.backward"),
        ("resumedbf16", "backward infinity", "Functional.linear.4", "Functional.linear.4.backward"),
        ("gpt", "gradient stopped", "", None),
    ],
)
def test_statistics_name_the_backward_that_made_a_wrong_gradient(
    root: Path, recipe: str, fault: str, operator: str, named: str | None
) -> None:
    """Also in one of several small batches; no gradient that is zeroed, which scripts do."""
    struck = Struck(Case(recipe, fault, 1, "ulp", WORKING), "statistics", operator)
    with in_this_process():
        base = whole.record_base(struck, root)
        strike = whole.Dumps("statistics", fault, operator, 1, 0)
        target = running.record(root / f"{recipe} {fault}", recipe, "" if operator else fault, 1, "ulp", dumps=strike)
        report = whole.align(base, target)
    told = whole.read_named(report)
    assert told.operators == ((named,) if named else ()) and told.step == 1
    assert named or told.key.startswith("ACC237.gradient")


def test_of_several_that_may_have_made_a_gradient_the_one_whose_parameters_tell(root: Path) -> None:
    """Four layers read what the gradient in question is of; one of their weights has a wrong gradient."""
    struck = Struck(Case("moe", "backward in bf16", 0, "ulp", WORKING), "tensor", "Functional.linear.4")
    with in_this_process():
        judged, words = judge_case(struck, root)
    assert judged == "right", words


def test_another_mask_in_what_is_computed_again_is_told_before_the_backward_that_reads_it(root: Path) -> None:
    struck = Struck(Case("mixer", "checkpoint mask", 1, "reordered", WORKING), "tensor")
    with in_this_process():
        judged, words = judge_case(struck, root)
    assert judged == "right", words


OPERATOR = Struck(Case("rms", "scaled by 1.02", 1, "ulp", WORKING), "tensor", "Functional.linear.1")
STAGE = Struck(Case("rms", "gradient zeroed", 1, "ulp", WORKING), "tensor")
NAME = "Functional.linear.1.forward"


@pytest.mark.parametrize(
    ("struck", "named", "outcome"),
    [
        (OPERATOR, Named(Status.FIX, "ACC230.replayed", (NAME,), 1), "right"),
        (OPERATOR, Named(Status.FIX, "ACC230.several", ("Functional.relu.0.forward", NAME), 1), "near"),
        (OPERATOR, Named(Status.FIX, "ACC230.replayed", (NAME,), 0), "near"),
        (OPERATOR, Named(Status.FIX, "ACC237.gradient_other", (), 1), "wrong"),
        (OPERATOR, Named(Status.FIX, "ACC237.gradient_one", ("Functional.linear.1.backward",), 1), "wrong"),
        (OPERATOR, Named(Status.GOOD, "ACC230.none"), "missed"),
        (STAGE, Named(Status.FIX, "ACC237.changed_zero", (), 1), "right"),
        (STAGE, Named(Status.FIX, "ACC237.changed_zero", (), 2), "near"),
        (STAGE, Named(Status.FIX, "ACC237.gradient_zeroed", (), 1), "near"),
        (STAGE, Named(Status.FIX, "ACC230.replayed", (NAME,), 1), "wrong"),
        (STAGE, Named(Status.GOOD, "ACC230.none"), "missed"),
    ],
)
def test_what_naming_something_first_is_worth(struck: Struck, named: Named, outcome: str) -> None:
    assert judge_named(struck, named, 0.02) == outcome


def test_a_run_draws_both_kinds_and_keeps_its_half(root: Path) -> None:
    drawn = whole.draw_run(WORKING, 7, 4, 2, "tensor", root)
    assert [bool(struck.operator) for struck in drawn] == [True, True, False, False, False, False]
    assert drawn == whole.draw_run(WORKING, 7, 4, 2, "tensor", root)
    assert all(half_of(one.case.recipe, one.case.fault) == WORKING for one in drawn if one.case.fault)
