"""The bar: a fault in a convolution, a softmax and in backward is named first, 3 of 3, without noise and with it;
healthy runs are not flagged. The noise is another thread count and convolution inputs rounded to HF32."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.record import load_operator_table
from helpers import capture, compare, curves
from tests.precision.test_capture import SCRIPT

NOISE = {
    "exact": {},
    "noisy": {"ASCEND_WORKBOOK_SIM_NUMERICS": "ascend", "OMP_NUM_THREADS": "2"},
}
#: fault -> the operator that must be named. Calls are counted from 1 by the simulator, from 0 by msprobe, and in
#: backward from the end of the network. The softmax is wrong each time it is called: once in a step.
LASTING = "aten::_softmax:scale=1.01"
FAULTS = {
    "aten::convolution@2:scale=1.01": "Functional.conv2d.1.forward",
    LASTING: "Functional.softmax.0.forward",
    "aten::convolution_backward@2:scale=1.01": "Functional.conv2d.1.backward",
}


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("baseline")
    capture(SCRIPT, out=folder, device="baseline")
    return folder


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory, simulator_env: dict[str, str]) -> Callable[..., Path]:
    """The simulated NPU's side with one fault (none: "") and noise."""

    @cache
    def made(fault: str, noise: str) -> Path:
        out = tmp_path_factory.mktemp("target")
        settings = {"ASCEND_WORKBOOK_SIM_FAULT": fault} if fault else {}
        capture(SCRIPT, out=out, device="npu-simulated", settings={**settings, **NOISE[noise]})
        return out

    return made


def against(baseline: Path, target: Path, replay_on: tuple[str, ...] | None = ()) -> Report:
    report: Report = compare(baseline, target, replay_on=replay_on)
    assert report.simulated and "[simulated NPU]" in report.text("en").split("\n")[0]
    return report


@pytest.mark.parametrize("noise", NOISE)
def test_a_healthy_run_is_not_flagged(baseline: Path, captured: Callable[..., Path], noise: str) -> None:
    report = against(baseline, captured("", noise))
    assert report.on_purpose == []
    assert report.facts["first_divergence"] is None and report.status <= Status.NOTE, report.text("en")
    if noise == "noisy":
        assert "HF32" in report.verdict("en"), "the noise is named"


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_faulty_operator_is_named_first(
    baseline: Path, captured: Callable[..., Path], fault: str, noise: str
) -> None:
    target = captured(fault, noise)
    report = against(baseline, target)
    assert report.status is Status.FIX and report.facts["first_divergence"] == FAULTS[fault], report.text("en")
    assert report.on_purpose == curves(baseline, target).on_purpose == [fault], "and told to be on purpose"
    assert report.ascend_numerics == (noise == "noisy")
    kernel = "::".join(fault.replace("@", ":").split(":")[:3:2])
    assert kernel in report.verdict("en"), "the fault's operator is told beside the API's name"
    named = [side.get(kernel, []) for side in load_operator_table().values()]
    assert FAULTS[fault].split(".")[1] in sum(named, []) and "tiny_net.py:" in report.verdict("zh")


@pytest.mark.parametrize(
    ("lasting", "key"), [(True, "ACC233.again"), pytest.param(False, "ACC233.not_again", marks=pytest.mark.full)]
)
def test_the_named_operator_is_run_again_on_both_devices(
    baseline: Path, captured: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, lasting: bool, key: str
) -> None:
    """A kernel that is wrong is wrong again; a fault that struck one call is not found in the operator."""
    target = captured(LASTING, "exact")
    if lasting:
        monkeypatch.setenv("ASCEND_WORKBOOK_SIM_FAULT", LASTING)
    report = against(baseline, target, None)
    found = next(one for one in report.findings if one.rule == "ACC233")
    assert found.key == key, report.text("en")
    runs = {run["tier"]: run for run in report.facts["replayed_on"]}
    assert set(runs) == {"cpu", "npu-simulated"} and not any(run["failed"] for run in runs.values())
    assert runs["cpu"]["saved"] < 1e-5 and (runs["npu-simulated"]["saved"] > 1e-3) == lasting
    assert "float64" in found.message("en") and "npu-simulated" in found.message("zh")


def test_a_fault_that_never_strikes_is_an_error(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    with pytest.raises(WorkbookError, match="never struck"):
        capture(
            SCRIPT,
            out=tmp_path,
            device="npu-simulated",
            task="fingerprints",
            settings={"ASCEND_WORKBOOK_SIM_FAULT": "aten::convolution@900:zero"},
        )


def test_a_fault_that_cannot_be_is_named(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    """What torch_npu raises of it tells of a CANN that could not register its operators."""
    with pytest.raises(WorkbookError, match="aten::absent:zero.* names no operator that runs") as caught:
        capture(
            SCRIPT,
            out=tmp_path,
            device="npu-simulated",
            task="fingerprints",
            settings={"ASCEND_WORKBOOK_SIM_FAULT": "aten::absent:zero"},
        )
    assert caught.value.key == "precision.simulator_refused" and "rewrite" not in str(caught.value)
