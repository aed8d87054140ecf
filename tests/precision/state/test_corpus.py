"""A few cases of the corpus, run as the whole of it is (`python -m tests.precision.state`): what is right is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.precision.state import cases, running
from tests.precision.state.cases import Case
from tests.precision.state.judged import judge_case

PLANTED = [
    ("rms", "eps inside the root", 1, "ulp"),
    ("rms", "gradient zeroed", 2, "reordered"),
    ("rms", "running_var stale", 1, "ulp"),
    ("rms", "clipped at another norm", 1, "ulp"),
    ("resumedscaled", "buffers not restored", 1, "ulp"),
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    running.record(folder / "baseline" / "rms", "rms")
    return folder


@pytest.mark.parametrize(("recipe", "fault", "start", "noise"), PLANTED)
def test_a_planted_fault_is_named_at_its_step(root: Path, recipe: str, fault: str, start: int, noise: str) -> None:
    verdict = judge_case(Case(recipe, fault, start, noise, cases.WORKING), root)
    assert verdict.outcome == "right", verdict.words


@pytest.mark.parametrize("noise", ["update", "start"])
def test_noise_is_no_fault(root: Path, noise: str) -> None:
    verdict = judge_case(Case("rms", "", 0, noise, cases.WORKING), root)
    assert verdict.outcome == "quiet", verdict.words


def test_a_run_draws_its_cases_and_a_pair_stays_in_its_half() -> None:
    halves = {half: cases.draw_run(half, 7, 1000, 4) for half in (cases.WORKING, cases.HELD)}
    pairs = {half: {(case.recipe, case.fault) for case in drawn if case.fault} for half, drawn in halves.items()}
    assert not pairs[cases.WORKING] & pairs[cases.HELD] and min(map(len, pairs.values())) > 80
    assert {fault for found in pairs.values() for _, fault in found} >= {*cases.MORE, *cases.OF_RANKS}
    assert halves[cases.HELD] == cases.draw_run(cases.HELD, 7, 1000, 4) != cases.draw_run(cases.HELD, 8, 1000, 4)
    assert all(case.label for drawn in halves.values() for case in drawn if case.fault)


def test_every_case_has_a_label_and_both_halves_are_drawn_alike() -> None:
    drawn = cases.draw_cases()
    assert {case.fault for case in drawn if case.fault} == set(cases.LABELS)
    assert drawn == cases.draw_cases() and {case.half for case in drawn} == {cases.WORKING, cases.HELD}
