"""The bar: a fault in a convolution, a softmax and in backward is named first, 3 of 3, without noise and with it;
healthy runs are not flagged. The noise is another thread count and convolution inputs rounded to HF32."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import capture, compare, curves
from helpers.errors import WorkbookError
from helpers.finding import Status
from helpers.precision.operators import apis
from helpers.report import Report
from tests.precision.test_capture import SCRIPT

NOISE = {
    "exact": {},
    "noisy": {"ASCEND_WORKBOOK_SIM_NUMERICS": "ascend", "OMP_NUM_THREADS": "2"},
}
#: fault -> the operator that must be named. Calls are counted from 1 by the simulator, from 0 by msprobe, and in
#: backward from the end of the network.
FAULTS = {
    "aten::convolution@2:scale=1.01": "Functional.conv2d.1.forward",
    "aten::_softmax@1:scale=1.01": "Functional.softmax.0.forward",
    "aten::convolution_backward@2:scale=1.01": "Functional.conv2d.1.backward",
}


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("baseline")
    capture(SCRIPT, out=folder, device="baseline")
    return folder


def against(baseline: Path, out: Path, settings: dict[str, str]) -> Report:
    capture(SCRIPT, out=out, device="npu-simulated", settings=settings)
    report: Report = compare(baseline, out)
    assert report.simulated and "[simulated NPU]" in report.verdict("en")
    return report


@pytest.mark.parametrize("noise", NOISE)
def test_a_healthy_run_is_not_flagged(
    baseline: Path, tmp_path: Path, simulator_env: dict[str, str], noise: str
) -> None:
    report = against(baseline, tmp_path, NOISE[noise])
    assert report.on_purpose == []
    assert report.facts["first_divergence"] is None and report.status <= Status.NOTE, report.text("en")
    if noise == "noisy":
        assert "HF32" in report.verdict("en"), "the noise is named"


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_faulty_operator_is_named_first(
    baseline: Path, tmp_path: Path, simulator_env: dict[str, str], fault: str, noise: str
) -> None:
    report = against(baseline, tmp_path, {"ASCEND_WORKBOOK_SIM_FAULT": fault, **NOISE[noise]})
    assert report.status is Status.FAIL and report.facts["first_divergence"] == FAULTS[fault], report.text("en")
    assert report.on_purpose == curves(baseline, tmp_path).on_purpose == [fault], "and told to be on purpose"
    assert report.ascend_numerics == (noise == "noisy")
    kernel = fault.partition("@")[0]
    assert kernel in report.verdict("en"), "the fault's operator is told beside the API's name"
    assert FAULTS[fault].split(".")[1] in apis(kernel) and "tiny_net.py:" in report.verdict("zh")


def test_a_fault_that_never_strikes_is_an_error(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    with pytest.raises(WorkbookError, match="never struck"):
        capture(SCRIPT, out=tmp_path, device="npu-simulated",
                settings={"ASCEND_WORKBOOK_SIM_FAULT": "aten::convolution@900:zero"})  # fmt: skip
