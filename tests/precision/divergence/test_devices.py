"""The named operator run again where it ran: the verdict in words, and what could not be run said so."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.comparison import examine_captures
from ascend_workbook.precision.divergence import DIVERGES, STRUCTURE, devices
from ascend_workbook.precision.divergence.devices import AGAIN, NOT_AGAIN, ONLY_DTYPE, UNKNOWN, Again, _choose_verdict
from tests.precision.dumps import as_capture
from tests.precision.networks import convolutions

NAME = "Functional.conv2d.1.forward"


@pytest.mark.parametrize(
    ("saved", "single", "coarse", "failed", "verdict"),
    [
        (1e-2, 1e-2, False, "", AGAIN),
        (1e-2, 1e-2, True, "", AGAIN),
        (1e-2, 1e-8, True, "", ONLY_DTYPE),
        (1e-2, 1e-8, False, "", AGAIN),
        (1e-8, 1e-8, False, "", NOT_AGAIN),
        (1e-8, 1e-8, True, "no device", UNKNOWN),
        (float("inf"), 1e-8, True, "", ONLY_DTYPE),
    ],
)
def test_the_verdict(saved: float, single: float, coarse: bool, failed: str, verdict: str) -> None:
    assert _choose_verdict(Again("npu", saved, single, failed), 1e-5, coarse) == verdict


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("sides")
    convolutions(root / "a" / "dump")
    convolutions(root / "b" / "dump", faults={NAME: lambda value: value * 1.01})
    return as_capture(root / "a"), as_capture(root / "b")


def on(sides: tuple[Path, Path], *tiers: str) -> Report:
    report: Report = compare(*sides, replay_on=tiers)
    assert report.facts["first_divergence"] == NAME
    return report


def test_a_device_that_is_not_here_leaves_it_open(sides: tuple[Path, Path]) -> None:
    (found,) = [one for one in on(sides, "npu").findings if one.rule == "ACC233"]
    assert (found.key, found.status) == ("ACC233.unknown", Status.NOT_LOOKED) and "npu" in found.message("en")


@pytest.mark.usefixtures("operators_are_run_again_in_a_child")
def test_values_that_the_operator_does_not_make_again(sides: tuple[Path, Path]) -> None:
    report = on(sides, "cpu")
    (found,) = [one for one in report.findings if one.rule == "ACC233"]
    again = report.facts["replayed_on"][0]
    assert found.key == "ACC233.not_again" and again["saved"] < 1e-5 and again["double"] < 1e-12
    assert "in float64" in found.message("en")


@pytest.mark.usefixtures("operators_are_run_again_in_a_child")
def test_another_device_does_not_clear_an_operator(sides: tuple[Path, Path], tmp_path: Path) -> None:
    target = shutil.copytree(sides[1], tmp_path / "b")
    report = on((sides[0], as_capture(target, tier="npu")), "cpu")
    (found,) = [one for one in report.findings if one.rule == "ACC233"]
    assert (found.key, found.status) == ("ACC233.unknown", Status.NOT_LOOKED)
    assert [run["tier"] for run in report.facts["replayed_on"]] == ["cpu"]


def test_no_device_no_word(sides: tuple[Path, Path]) -> None:
    assert not [one for one in on(sides).findings if one.rule == "ACC233"]


def test_a_run_at_the_limit_is_right_this_time() -> None:
    assert _choose_verdict(Again("npu", 1e-5, 1e-5), 1e-5, False) == NOT_AGAIN
    assert (
        _choose_verdict(Again("npu", 1e-2, 1e-5), 1e-5, True) == ONLY_DTYPE
        and _choose_verdict(None, 1.0, False) == UNKNOWN
    )


@pytest.mark.parametrize(
    ("names", "outcome", "confirmed"),
    [([NAME], DIVERGES, True), ([NAME, "b"], DIVERGES, False), ([NAME], STRUCTURE, False)],
)
def test_only_a_single_operator_that_a_replay_blames_is_confirmed(
    names: list[str], outcome: str, confirmed: bool, sides: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = examine_captures(*sides)
    assert facts.first is not None
    step, judged = facts.first
    first = step, dataclasses.replace(judged, outcome=outcome)
    monkeypatch.setattr(devices, "run_on_device", lambda tier, *_: Again(tier, 1.0, 1.0))
    told: Any = SimpleNamespace(first=first, named=names, baseline=facts.baseline, target=facts.target)
    answer = devices.confirm_divergence(told, ("cpu", "cpu", "npu"))
    assert (answer is not None) is confirmed
    if answer:
        assert [run.tier for run in answer.runs] == ["cpu", "npu"]
    assert devices.confirm_divergence(facts) is None, "both captures were made on one device"
