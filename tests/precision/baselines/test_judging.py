"""A bundle in the baseline's place: operators by their statistics, the curves beside them, and what stays unknown."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.curves import curves
from tests.precision.baselines.bundles import SIDE, bundle_of, capture_of
from tests.precision.dumps import as_capture


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpu")
    throughput = {"unit": "steps/s", "median": 12.5}
    return bundle_of(capture_of(folder / "capture"), folder / "gpu.zip", throughput=throughput)


def target(folder: Path, **options: Any) -> Path:
    return capture_of(folder / "npu", tier="npu", **{"task": "tensor", "device": "Ascend910B2", **options})


def keys(report: Report) -> set[str]:
    return {finding.key for finding in report.findings}


def test_agreement_is_told_with_what_was_not_judged(bundle: Path, tmp_path: Path) -> None:
    report = compare(bundle, target(tmp_path))
    assert report.headline is not None and report.headline.rule == "ACC230" and report.status is Status.NOT_LOOKED
    assert {"ACC284.statistics", "ACC215.statistics", "ACC250.together"} <= keys(report)
    said = next(found for found in report.findings if found.rule == "ACC284").message("en")
    assert "NVIDIA H200, 2026-11-01" in said and "NaN" in said
    assert report.facts["baseline"] == str(bundle) and report.facts["curves"]["steps_compared"] == 2
    assert report.facts["bundles"]["baseline"]["throughput"]["median"] == 12.5


def test_the_first_operator_to_part_is_named(bundle: Path, tmp_path: Path) -> None:
    report = compare(bundle, target(tmp_path, faults={"Functional.batch_norm.1.forward": lambda x: 1.5 * x}))
    assert report.facts["first_divergence"] == "Functional.batch_norm.1.forward" and report.status is Status.FIX


def test_other_losses_are_told(bundle: Path, tmp_path: Path) -> None:
    report = compare(bundle, target(tmp_path, losses=(2.5, 1.5)))
    assert report.status is Status.FIX and "ACC250.at_once" in keys(report)


def test_another_experiment_is_the_verdict(bundle: Path, tmp_path: Path) -> None:
    other = {**SIDE, "weights": {"w": "float32[2]:fedcba9876543210"}}
    report = compare(bundle, target(tmp_path, side=other))
    assert report.headline is not None and report.headline.key == "ACC205.weights"


def test_losses_that_are_not_there_are_said(bundle: Path, tmp_path: Path) -> None:
    npu = target(tmp_path)
    (npu / "gpulog.json").unlink()
    report = compare(bundle, npu)
    assert "ACC284.no_curves" in keys(report) and "curves" not in report.facts


def test_without_statistics_experiment_and_curves_are_compared(tmp_path: Path) -> None:
    bare = capture_of(tmp_path / "capture")
    shutil.rmtree(bare / "dump")
    (bare / "dump").mkdir()
    as_capture(bare, task="fingerprints", tier="cuda", device="NVIDIA H200", side=SIDE)
    bundle = bundle_of(bare, tmp_path / "bare.zip", statistics=False)
    report = compare(bundle, target(tmp_path))
    assert report.status is Status.NOT_LOOKED
    assert {"ACC230.no_operators", "ACC284.curves", "ACC250.together"} <= keys(report)
    assert report.facts["first_divergence"] is None and report.text("en")
    failed = compare(bundle, target(tmp_path / "b", losses=(9.0, 9.0)), fail_on=["incomplete"])
    assert failed.status is Status.FIX and "incomplete" in failed.facts["failed_on"]


def test_curves_take_a_bundle(bundle: Path, tmp_path: Path) -> None:
    report = curves(bundle, target(tmp_path))
    assert report.status is Status.GOOD and report.facts["baseline"] == str(bundle / "gpulog.json")


def test_an_address_without_keys_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for verb in (compare, curves):
        with pytest.raises(WorkbookError, match="no keys for object storage"):
            verb("obs://bucket/gpu.zip", tmp_path)
