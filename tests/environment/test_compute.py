"""Measurements judged: right, wrong, not finite, other dtype, crashed, hanging; and the real child on what is here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.environment import compute, compute_check
from ascend_workbook.environment.child import compute as probe
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.machine import device

GOOD = {
    "device": "npu:0",
    "operation": "matmul",
    "dtype": "float32",
    "max_error": 2e-7,
    "place": [3, 4],
    "got": 1.0,
    "exact": 1.0,
    "not_finite": 0,
}
TIMED = {"device": "npu:0", "operation": "copy_to_host", "dtype": "int32", "time_ms": 1.5, "gb_per_s": 11.0, "mib": 16}


def report(*rows: dict[str, Any], tier: str = "npu") -> Report:
    return compute.report_on(list(rows), None, tier)


def test_good_measurements() -> None:
    made = report(GOOD, TIMED)
    assert made.status is Status.GOOD and not made.simulated
    assert made.verdict("en") == "1 results on 1 device(s) agree with exact values"
    assert made.table and made.table.column_values("bandwidth") == [None, 11.0]
    assert "1.5 ms" in made.text("en") and made.figure("en") is not None


@pytest.mark.parametrize(
    ("change", "key", "status", "said"),
    [
        ({"max_error": 1e-5}, "ENV101.ok", Status.GOOD, "1e-05"),
        ({"max_error": 1.1e-5}, "ENV101.reduced", Status.LOOK, "TF32"),
        ({"max_error": 0.5, "got": 9.0}, "ENV101.wrong", Status.FIX, "matmul float32: error 0.5 at [3, 4] (got 9"),
        ({"dtype": "float16", "max_error": 2e-3}, "ENV101.wrong", Status.FIX, "float16"),
        ({"dtype": "bfloat16", "max_error": 7e-3}, "ENV101.ok", Status.GOOD, "bfloat16"),
        ({"operation": "add", "max_error": 1e-6}, "ENV101.wrong", Status.FIX, "add"),
        ({"not_finite": 3, "max_error": "inf", "got": "nan"}, "ENV101.not_finite", Status.FIX, "3 elements"),
        ({"structure": "float64 [256, 256]"}, "ENV101.structure", Status.FIX, "float64 [256, 256]"),
        ({"error": "RuntimeError: 507015"}, "ENV101.error", Status.FIX, "507015"),
    ],
)
def test_one_measurement(change: dict[str, Any], key: str, status: Status, said: str) -> None:
    found = compute.judge_row({**GOOD, **change})
    assert (found.key, found.status) == (key, status) and said in found.message("en")
    made = report({**GOOD, **change}, TIMED)
    assert made.status is status
    for lang in ("en", "zh"):
        assert "{" not in made.text(lang) and made.html(lang)
    assert re.search("[\u4e00-\u9fff]", made.text("zh"))
    if status is Status.FIX:
        assert said in made.verdict("en")


def test_nothing_compared_is_not_good() -> None:
    assert report(TIMED).headline.key == "ENV100.nothing"  # type: ignore[union-attr]
    assert report().status is Status.NOT_LOOKED


def test_comparison_and_timing_of_a_case_are_one_row() -> None:
    timed = {"device": "npu:0", "operation": "matmul", "dtype": "float32", "time_ms": 2.0, "gflops": 9.0}
    rows = compute.merge_rows([{"devices": ["npu:0"]}, GOOD, TIMED, timed])
    assert [row["operation"] for row in rows] == ["matmul", "copy_to_host"]
    assert rows[0]["gflops"] == 9.0 and rows[0]["max_error"] == 2e-7


ONE_ROW = f"import json; print(json.dumps({GOOD!r}), flush=True)\n"


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("import os; os.kill(os.getpid(), 11)", "signal 11"),
        ("raise ValueError('no device')", "ValueError: no device"),
        ("import time; time.sleep(60)", "no end within 6 s"),
        ('print(\'{"device": "npu\')', "exit code 0"),
    ],
)
def test_a_child_that_does_not_end_well(tmp_path: Path, code: str, how: str) -> None:
    """What it measured before is kept, and the verdict is FAIL although every row is good."""
    path = tmp_path / "probe.py"
    path.write_text(ONE_ROW + code)
    rows, broken = compute.measure_compute("cpu", "cpu", size=8, timeout_s=6 if "sleep" in code else 60, probe=path)
    made = compute.report_on(rows, broken, "cpu")
    assert len(rows) == 1 and made.status is Status.FIX
    if "exit code" not in how:
        assert how in made.verdict("en")


def test_the_measure_of_error() -> None:
    """The child's own comparison sees one wrong element, a wrong dtype and a missing value."""
    torch = pytest.importorskip("torch")
    inputs, exact, scale = probe.exact_cases(torch, torch.float16, 32)["matmul"]
    good = probe.compare_with_exact(torch, "matmul", inputs, exact, scale, "cpu")
    assert good["max_error"] <= compute.ALLOWED["float16"] and good["not_finite"] == 0
    shifted = exact.clone()
    shifted[5, 7] += 0.1 * scale[5, 7]
    wrong = probe.compare_with_exact(torch, "matmul", inputs, shifted, scale, "cpu")
    assert wrong["place"] == [5, 7] and wrong["max_error"] == pytest.approx(0.1, rel=0.05)
    holes = (inputs[0].clone(), inputs[1])
    holes[0][3, 0] = float("nan")
    assert probe.compare_with_exact(torch, "matmul", holes, exact, scale, "cpu")["not_finite"] == 32
    assert "structure" in probe.compare_with_exact(torch, "matmul", inputs, exact[:4], scale, "cpu")


def test_on_the_cpu() -> None:
    made = compute_check("cpu", size=32)
    assert (made.status, made.tier, made.facts["measurements"][0]["device"]) == (Status.GOOD, "cpu", "cpu")
    told = [(row["operation"], row["device"]) for row in made.facts["measurements"][6:]]
    assert told == [("copy_on_device", "cpu"), ("all_reduce", "2 x gloo")]


def test_on_the_simulated_npu(simulator_env: dict[str, str]) -> None:
    made = compute_check("npu-simulated", size=32)
    assert made.status is Status.GOOD and made.simulated
    rows = made.facts["measurements"]
    assert {row["device"] for row in rows} == {"npu:0", "npu:1", "2 x hccl"}
    copies = [row for row in rows if row["operation"].startswith("copy")]
    assert len(copies) == 10 and all(row["gb_per_s"] > 0 for row in copies)
    assert [(row["wrong"], row["bus_gb_per_s"] > 0) for row in rows if row["operation"] == "all_reduce"] == [(0, True)]
    assert made.table and len(made.table.rows) == len(rows) == 23
    assert made.text("zh").split("\n")[0].endswith("[模拟 NPU]")


def test_a_device_that_is_not_here_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "ask_tier", lambda tier, python: {"why": {"say": "device.why.no_cann"}})
    made = compute_check("npu")
    assert made.status is Status.FIX and "device npu is not here" in made.verdict("en")


def test_faults_on_purpose_are_told(simulator_env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_WORKBOOK_SIM_FAULT", "matmul:scale=1.5")
    for part in ("measure_transfers", "measure_collectives"):
        monkeypatch.setattr(compute, part, lambda *args: [])
    report = compute_check("npu-simulated")
    assert report.status is Status.FIX and report.on_purpose == ["matmul:scale=1.5"]
