"""Plain dumps of msprobe, without any record of the experiment: every other cause gets its own right verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.matrix import fooled, networks
from benchmarks.matrix.fooled import CASES, Case
from benchmarks.matrix.replaying import in_this_process


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fooled.recorded(tmp_path_factory.mktemp("baseline"), *networks.build("gpt", fooled.SEED))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_gets_its_own_verdict(baseline: Path, tmp_path: Path, case: Case) -> None:
    with in_this_process():
        report = fooled.verdict(baseline, tmp_path, case)
    assert report.headline is not None and report.headline.key == case.key, report.verdict("en")
    assert report.facts["first_divergence"] == case.named
    if case.change is fooled.scaled:
        assert "1.02" in report.verdict("en") and "Functional.linear.6.forward input.1" in report.verdict("zh")
