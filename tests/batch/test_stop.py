"""A run ends at its first Fix and says what to mend; what waits for it is not looked at, and never a second Fix."""

from __future__ import annotations

import json
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.batch import execute
from ascend_workbook.batch.causes import find_causes
from ascend_workbook.batch.execute import Outcome
from ascend_workbook.cli.commands.batch import describe_first_fix
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, load_report
from ascend_workbook.machine.project import read_stage_command
from ascend_workbook.page.run import load_run
from tests.batch.test_run import Make, go

SAID = "MIG140: the migrated script failed: RuntimeError: no kernel for 65536 (train.py:15)"


def outcomes_of(report: Report) -> dict[str, dict[str, Any]]:
    return {outcome["stage"]: outcome for outcome in report.facts["outcomes"]}


@pytest.fixture(autouse=True)
def papermill_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook ends as the name of its body says, without a kernel; what it saves is what the real one would."""

    def run_notebook(stage: str, notebook: Path, folder: Path, parameters: object, key: str, timeout_s: int) -> Outcome:
        body = notebook.read_text()
        (folder.parent / f"count-{stage}").write_text("x")
        if "boom" in body:
            return Outcome(stage, execute.FAILED, key, cell=3, error="ValueError: boom")
        if "sys.exit" in body:
            return Outcome(stage, execute.FAILED, key, cell=3, error="the cell did not complete")
        status = Status.FIX if "Status.FIX" in body else Status.GOOD
        report = Report(stage, "run", (Finding("RUN400", status, "RUN400.stopped"),), command=read_stage_command())
        report.save(folder)
        return Outcome(stage, execute.RED if status is Status.FIX else execute.GOOD, key, cell=3)

    monkeypatch.setattr(execute, "_run_papermill", run_notebook)


def ran(tmp_path: Path, stage: str) -> bool:
    return (tmp_path / "t" / f"count-{stage}").is_file()


@pytest.mark.parametrize("body", ["red", "raises"])
def test_what_is_behind_the_first_fix_waits_for_it(notebooks: Make, tmp_path: Path, body: str) -> None:
    report = go(notebooks, tmp_path, environment="good", migration=body, precision="good", profiling="good")
    assert report.status is Status.FIX and ran(tmp_path, "environment") and not ran(tmp_path, "precision")
    assert [row[1] for row in report.table.rows] == ["Good", "Fix", "Not looked", "Not looked"]  # type: ignore[union-attr]
    assert [finding.message("zh") for finding in report.findings[2:4]] == ["等待“代码”"] * 2
    waiting = outcomes_of(report)["precision"]
    assert (waiting["state"], waiting["blocked_by"], waiting["status"]) == ("not_run", "migration", "Not looked")
    assert load_report(tmp_path / "t" / "report.json") == report
    suite = xml.parse(tmp_path / "t" / "junit.xml").getroot()
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == (
        *("10" if body == "red" else "01"),
        "2",
    )


def test_a_stage_that_waited_runs_once_the_other_is_mended(notebooks: Make, tmp_path: Path) -> None:
    go(notebooks, tmp_path, environment="good", migration="good", precision="raises")
    go(notebooks, tmp_path, environment="red", migration="good", precision="raises")
    assert not (tmp_path / "t" / "precision" / "outcome.json").exists(), "its old failure says nothing any more"
    again = go(notebooks, tmp_path, environment="good", migration="good", precision="good")
    assert again.status is Status.GOOD and outcomes_of(again)["migration"]["reused"]
    assert "reused" not in again.text("en") and not any(outcome["blocked_by"] for outcome in again.facts["outcomes"])


def test_one_cause_is_one_fix_also_where_the_run_goes_on(notebooks: Make, tmp_path: Path) -> None:
    options = {"environment": "good", "migration": "raises", "precision": "raises", "profiling": "exits"}
    report = go(notebooks, tmp_path, keep_going=True, **options)
    told = outcomes_of(report)
    assert [outcome["status"] for outcome in told.values()] == ["Good", "Fix", "Not looked", "Fix"]
    assert told["precision"]["blocked_by"] == "migration" and told["precision"]["state"] == "cell_failed"
    assert not told["profiling"]["blocked_by"] and report.status is Status.FIX


def test_the_run_says_what_to_mend_and_how_to_repeat_it(
    notebooks: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    parameters = {"script": str(tmp_path / "train.py"), "precision.steps": "4"}
    report = go(notebooks, tmp_path, parameters, environment="good", migration="raises", precision="good")
    told = outcomes_of(report)["migration"]
    assert report.cause == told["cause"] and told["cause"]["key"] == "RUN400.cell_failed"
    assert told["cause"]["place"] == {"path": "migration/notebook.ipynb", "line": 0, "column": 0}
    assert report.facts["parameters"] == parameters and report.facts["versions"]["python"]
    command = ["ascend-workbook", "run", "--name", "t", "--root", str(tmp_path), "--lang", "en", "--stage", "migration"]
    assert told["command"] == [*command, "-p", "script", "train.py"]
    assert report.command[-5:] == ("script", "train.py", "-p", "precision.steps", "4")
    saved = load_report(tmp_path / "t" / "environment" / "report.json").command
    assert saved[-5:] == ("--stage", "environment", "-p", "script", "train.py")
    lines = describe_first_fix(report, "en")
    assert lines[1].startswith("Fix first, Code: code cell 3 failed: ValueError: boom")
    assert lines[2] == "  where: migration/notebook.ipynb" and "selftest --log" in lines[3]
    assert lines[4].startswith("  then: ascend-workbook run --name t") and lines[4].endswith("-p script train.py")
    assert describe_first_fix(report, "zh")[1].startswith("先修“代码”：")
    assert not describe_first_fix(Report("batch", "run"), "en")


def test_a_secret_among_the_parameters_stands_nowhere(notebooks: Make, tmp_path: Path) -> None:
    secret = "hf_" + "Ab3" * 12
    (tmp_path / secret).write_text("")
    report = go(notebooks, tmp_path, {"script": str(tmp_path / secret)}, environment="red", keep_going=True)
    told = [report.to_json(), " ".join(report.command), *outcomes_of(report)["environment"]["command"]]
    assert not [text for text in told if secret in text] and "--keep-going" in report.command


def test_the_place_and_the_numbers_of_an_error_are_none_of_its_cause() -> None:
    other = "WorkbookError: the capture failed: RuntimeError: no kernel for 131072 /home/me/train.py:15 → Look here."
    assert find_causes(SAID) == find_causes(other) == {"RuntimeError: no kernel for #"}
    assert not find_causes(SAID) & find_causes("RuntimeError: no kernel of that name")
    assert find_causes("WorkbookError: the NPU is gone → Plug it in.") == {"WorkbookError: the NPU is gone"}
    assert not find_causes("the losses part at step 3") and "known:" in "".join(
        find_causes("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB")
    )


def test_json_keeps_a_stage_that_waits(notebooks: Make, tmp_path: Path) -> None:
    report = go(notebooks, tmp_path, environment="red", migration="good")
    written = json.loads((tmp_path / "t" / "report.json").read_text())
    assert written["facts"]["outcomes"][1]["blocked_by"] == "environment" and written["cause"] == report.cause


def test_the_page_shows_no_earlier_report_of_a_stage_that_waits(notebooks: Make, tmp_path: Path) -> None:
    go(notebooks, tmp_path, environment="good", migration="good")
    go(notebooks, tmp_path, environment="red", migration="good")
    assert (tmp_path / "t" / "migration" / "report.json").is_file()
    assert load_run(tmp_path / "t").stages["migration"] is None
