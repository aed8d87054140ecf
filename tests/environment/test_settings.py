"""`check --save` and `check --compare`: reports, exit codes, both languages, nothing secret."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.cli import main as __main__
from ascend_workbook.cli.commands import environment as command
from ascend_workbook.environment import compare_settings, save_settings
from ascend_workbook.environment.readiness import report_on
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.machine import bounded
from ascend_workbook.machine.settings import Settings, load_record
from tests.environment import machines
from tests.machine.settings.records import GPU, NPU, changed
from tests.machine.settings.test_differences import CASES


def answer(monkeypatch: pytest.MonkeyPatch, output: bounded.Output) -> None:
    monkeypatch.setattr("ascend_workbook.environment.settings.device.child_environment", lambda tier: {})
    monkeypatch.setattr("ascend_workbook.environment.settings.bounded.run_bounded", lambda *args, **options: output)


def test_an_npu_machine_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"packages": {"torch": "2.9.0", "torch_npu": "2.9.0"}, "flags": {"threads": 4}, "python": "3.11.9"}
    answer(monkeypatch, bounded.Output(0, f"noise\n{json.dumps(told)}\n", ""))
    monkeypatch.setenv("HCCL_ALGO", "level0:ring")
    monkeypatch.setenv("HCCL_TOKEN", "PLANTED")
    made = save_settings(tmp_path / "a.json", report_on(machines.server()))
    assert load_record(tmp_path / "a.json") == made and "PLANTED" not in (tmp_path / "a.json").read_text()
    assert made.machine == {
        "tier": "npu",
        "device": "Ascend910B2",
        "count": "2",
        "system": "Linux",
        "arch": "aarch64",
        "python": "3.11.9",
        "cann": "8.5.0",
        "driver": "25.5.0",
    }
    assert made.environment["HCCL_ALGO"] == "level0:ring" and made.flags == {"threads": 4} and not made.untold


@pytest.mark.parametrize(
    "output",
    [
        bounded.Output(1, "", "ImportError: libhccl.so\x1b[2J"),
        bounded.Output(-9, "", "", timed_out=True),
        bounded.Output(0, "x", ""),
    ],
)
def test_a_broken_torch_is_untold_not_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: bounded.Output
) -> None:
    answer(monkeypatch, output)
    made = save_settings(tmp_path / "a.json", report_on(machines.server()))
    assert made.untold["flags"] and load_record(tmp_path / "a.json") == made and made.packages
    assert "ENV121.flags" in {one.key for one in compare_settings(made, made).findings}


def test_a_machine_without_a_device_is_recorded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, bounded.Output(0, "{}", ""))
    absent = machines.chosen(machines.laptop(), wanted="npu", tier="", name="", count=0)
    assert save_settings(tmp_path / "a.json", report_on(absent)).tier == ""


@pytest.mark.parametrize(
    ("left", "right", "status", "key"),
    [
        (GPU, changed(NPU, "packages", torch="2.8.0"), Status.FIX, "ENV120.high"),
        (GPU, changed(NPU, "packages", numpy="2.1"), Status.LOOK, "ENV120.medium"),
        (GPU, NPU, Status.NOTE, "ENV120.alike"),
        (GPU, GPU, Status.GOOD, "ENV120.alike"),
        (GPU, replace(GPU, run={}), Status.NOT_LOOKED, "ENV120.alike"),
        (Settings(), Settings(), Status.NOT_LOOKED, "ENV120.alike"),
    ],
)
def test_the_verdict(left: Settings, right: Settings, status: Status, key: str) -> None:
    report = compare_settings(left, right)
    assert report.headline and (report.status, report.headline.key) == (status, key)


@pytest.mark.parametrize("name", CASES)
def test_a_row_a_difference_in_both_languages(name: str) -> None:
    report = compare_settings(GPU, CASES[name][0])
    assert report.table and len(report.table.rows) == len(report.facts["differences"])
    for lang in ("en", "zh"):
        text = report.text(lang)
        assert "{" not in text.replace("{'", "") and report.html(lang, page=False)
    assert Report.from_json(report.to_json()).text("zh") == report.text("zh")


def test_what_a_machine_does_not_tell_is_named() -> None:
    report = compare_settings(NPU, changed(NPU, "machine", cann=None))
    told = next(one for one in report.findings if one.key == "ENV121.machine")
    assert report.status is Status.NOT_LOOKED and told.args == {"names": ["cann"]} and "cann" in told.message("zh")


def test_a_capture_from_elsewhere_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    NPU.save_record(tmp_path / "a.json")
    for settings in ({"flags": {"x": [1]}}, [1], {"machine": [1]}, {"packages": {"\x1b[2J": "1"}}):
        made = {
            "schema": "ascend-workbook/capture/1",
            "complete": True,
            "about": {"tier": "npu"},
            "files": {},
            "sides": {"rank0": {"settings": settings, "weights": {"w": "1"}}},
        }
        (tmp_path / "capture.json").write_text(json.dumps(made))
        code = __main__.main(["check", "--lang", "en", "--compare", str(tmp_path), str(tmp_path / "a.json")])
        assert (code, "\x1b" in capsys.readouterr().err) == (2, False)


def test_a_simulated_side_says_so() -> None:
    assert compare_settings(GPU, changed(NPU, "machine", tier="npu-simulated")).simulated


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    made = {"gpu": GPU, "npu": NPU, "other": changed(NPU, "packages", torch="2.8.0")}
    for name, side in made.items():
        side.save_record(tmp_path / f"{name}.json")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "empty").mkdir()
    return {name: str(tmp_path / name) for name in ("empty",)} | {
        name: str(tmp_path / f"{name}.json") for name in (*made, "broken")
    }


@pytest.mark.parametrize(
    ("sides", "code"),
    [(("gpu", "npu"), 0), (("gpu", "other"), 1), (("gpu", "broken"), 2), (("empty", "npu"), 2)],
)
def test_exit_codes(files: dict[str, str], sides: tuple[str, str], code: int) -> None:
    assert __main__.main(["check", "--lang", "zh", "--compare", *(files[side] for side in sides)]) == code


@pytest.mark.parametrize("options", [["--run", "x"], ["--xlsx", "x"]])
def test_options_that_do_not_belong(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["check", "--lang", "en", *options]) == 2
    assert "belongs to" in capsys.readouterr().err


def test_the_command_saves_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: dict[str, Any] = {"packages": {"torch": "2.9.0"}, "flags": {}}
    answer(monkeypatch, bounded.Output(0, json.dumps(told), ""))
    made = report_on(machines.server())
    verb = replace(command.VERBS["check"], function=lambda **options: made)
    verb.__dict__["options"] = command.VERBS["check"].options
    monkeypatch.setitem(command.VERBS, "check", verb)
    assert __main__.main(["check", "--lang", "en", "--save", str(tmp_path / "a.json")]) == 0
    assert f"settings: {tmp_path / 'a.json'}" in capsys.readouterr().out
    assert load_record(tmp_path / "a.json").tier == "npu"
