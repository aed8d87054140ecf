"""The whole check where this runs: good and labelled on a laptop, red where a real NPU is asked for, no secret."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from ascend_workbook.cli import main as __main__
from ascend_workbook.environment import check, environment_check, join
from ascend_workbook.environment.readiness import report_on
from ascend_workbook.findings import report
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.machine import bounded
from tests.conftest import ROOT
from tests.environment import machines

NAMES = ("OBS_SECRET_ACCESS_KEY", "OBS_ACCESS_KEY_ID", "HCCL_TOKEN", "MA_AK", "API_KEY", "ASCEND_PASSWORD")
SECRETS = {name: f"PLANTED-{name}" for name in NAMES}


def command(*args: str, **environ: str) -> bounded.Output:
    return bounded.run_bounded(
        [sys.executable, "-m", "ascend_workbook", "check", *args],
        env={**os.environ, **environ},
        cwd=str(ROOT),
        timeout_s=200,
    )


def test_a_laptop_is_ready_and_says_simulated(simulator_env: dict[str, str]) -> None:
    made = check()
    assert made.tier == "npu-simulated" and made.simulated
    assert made.status is not Status.FIX, made.text("en")
    assert made.headline and made.headline.key == "ENV000.npu_simulated"
    assert made.verdict("en").startswith("ready on the simulated NPU (2 x ")


def test_a_real_npu_that_is_not_here_is_red(simulator_env: dict[str, str], tmp_path: Path) -> None:
    done = command("--device", "npu", "--json", str(tmp_path / "r.json"), "--lang", "en", **SECRETS)
    assert done.code == 1 and "device npu is not here" in done.stdout
    made = report.load_report(tmp_path / "r.json")
    assert made.status is Status.FIX and not made.simulated
    assert [part.verb for part in made.parts] == ["machine_check"]


def test_the_command_prints_both_parts_and_no_secret(simulator_env: dict[str, str], tmp_path: Path) -> None:
    page, data = tmp_path / "r.html", tmp_path / "r.json"
    done = command("--json", str(data), "--html", str(page), "--lang", "zh", "--work-folder", str(tmp_path), **SECRETS)
    assert done.code == 0, done.stdout + done.stderr
    assert [part["verb"] for part in json.loads(data.read_text())["parts"]] == ["machine_check", "compute_check"]
    everything = done.stdout + done.stderr + page.read_text() + data.read_text()
    assert "PLANTED" not in everything and "可在模拟 NPU 上运行" in done.stdout
    assert str(tmp_path) in everything


def test_a_wrong_word_ends_with_2() -> None:
    assert __main__.main(["check", "--device", "gpu"]) == 2


def test_parts_join_to_the_worst() -> None:
    good = report_on(machines.server())
    bad = report_on(machines.host(machines.server(), disk_writable=False))
    assert join(good).status is Status.NOTE and join(good).tier == "npu"
    both = join(good, bad)
    assert both.status is Status.FIX and "cannot be written to" in both.verdict("en")


def test_without_a_device_nothing_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = machines.chosen(machines.laptop(), wanted="npu", tier="", why={"say": "device.why.no_cann"})
    monkeypatch.setattr("ascend_workbook.environment.compute.check", lambda device, work_folder: report_on(absent))
    assert len(environment_check("npu").parts) == 1


def test_without_an_accelerator_nothing_is_held_against_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = machines.chosen(machines.laptop(), tier="cpu", name="CPU")
    monkeypatch.setattr("ascend_workbook.environment.compute.check", lambda device, work_folder: report_on(plain))
    computed: list[str] = []
    monkeypatch.setattr(
        "ascend_workbook.environment.compute.compute_check", lambda found: computed.append(found.tier) or made
    )
    made = report_on(plain)
    assert len(environment_check("auto").parts) == 1 and computed == []
    assert len(environment_check("cpu").parts) == 2 and computed == ["cpu"]


def test_a_report_survives_its_json() -> None:
    made = report_on(machines.unusable(machines.server()))
    again = Report.from_json(made.to_json())
    assert again == made and again.text("zh") == made.text("zh")


def test_the_verdict_counts_what_could_not_be_told() -> None:
    machine = machines.host(machines.server(), shm_mib=64.0, open_files=100)
    assert report_on(machine).verdict("en").endswith("2 to look at, 0 not looked at")
