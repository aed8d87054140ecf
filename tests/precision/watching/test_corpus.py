"""Cases drawn from a seed: faults are found at their step, healthy trainings of thirty kinds raise no alarm."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.precision.watching.corpus import FAULTS, HALVES, draw_cases, judge_case

#: Of the working half, in the ordinary suite.
FEW = ("one x80, no clipping", "layer gives nan", "bit of a gradient", "rate leaps", "scale collapses")
QUIET = ("Margin", "Clamped", "Mixture", "SparseRows", "HalfScaled", "Freezing")
#: Found of the faults, and alarms of the healthy: as measured (docs/watch.md).
FOUND, WRONG = {"working": 32, "held": 32}, {"working": 0, "held": 1}


def test_halves_have_the_same_kinds() -> None:
    cases = draw_cases()
    for half in HALVES:
        kinds = [case.fault for case in cases if case.half == half]
        assert {kind: kinds.count(kind) for kind in FAULTS} == dict.fromkeys(FAULTS, 2) and kinds.count("") >= 40
    assert len({case.seed for case in cases}) == len(cases)


@pytest.mark.parametrize("name", FEW)
def test_a_fault_is_found(tmp_path: Path, name: str) -> None:
    case = next(case for case in draw_cases() if case.fault == name and case.half == "working")
    assert judge_case(case, tmp_path) == ""


@pytest.mark.parametrize("recipe", QUIET)
def test_a_healthy_training_is_quiet(tmp_path: Path, recipe: str) -> None:
    case = next(case for case in draw_cases() if (case.recipe, case.fault, case.half) == (recipe, "", "working"))
    assert judge_case(case, tmp_path) == ""


@pytest.mark.full
@pytest.mark.parametrize("half", HALVES)
def test_a_half_is_as_it_was_measured(tmp_path: Path, half: str) -> None:
    cases = [case for case in draw_cases() if case.half == half]
    wrong = {case: judge_case(case, tmp_path / str(number)) for number, case in enumerate(cases)}
    assert sum(bool(case.fault) and not wrong[case] for case in cases) >= FOUND[half]
    assert sum(not case.fault and bool(wrong[case]) for case in cases) <= WRONG[half]
