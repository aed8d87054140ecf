"""One run's JUnit file says what a plan's says of it, and `run --junit` is that file."""

from __future__ import annotations

import xml.etree.ElementTree as xml
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook import batch
from ascend_workbook.batch.execute import Outcome
from ascend_workbook.batch.results import junit
from ascend_workbook.batch.results.publish import publish_results
from ascend_workbook.batch.workbook import _publish_run
from ascend_workbook.cli.main import main
from ascend_workbook.findings import report
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import LANGUAGES
from tests.batch.results.made import OOM, STAGES, night, run_folder


def cases(root: xml.Element) -> list[tuple[Any, ...]]:
    """All that a CI server shows of each case."""
    return [(case.attrib, [(told.tag, told.attrib, told.text) for told in case]) for case in root.iter("testcase")]


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("how", ["good", "red", "oom", "error"])
def test_a_run_has_the_cases_that_a_plan_has_of_it(tmp_path: Path, how: str, lang: str) -> None:
    plan, done = night(tmp_path, {"a": how})
    publish_results(plan, done, tmp_path, lang, finished=True)
    of_plan = xml.parse(tmp_path / "junit.xml").getroot()
    own = xml.fromstring(
        junit.render_run(report.load_report(tmp_path / "a" / "report.json"), tmp_path / "a", STAGES, lang)
    )
    assert cases(own) == cases(of_plan) and len(cases(own)) == 4
    assert [own.get(name) for name in ("tests", "failures", "errors", "skipped")] == [
        of_plan.get(name) for name in ("tests", "failures", "errors", "skipped")
    ]
    assert {case["classname"] for case, _ in cases(own)} == {"a"}
    assert own[0].find("properties/property[@name='page']").get("value") == "./index.html"  # type: ignore[union-attr]


def test_a_run_that_could_not_start_or_be_sent_is_as_red_as_its_exit_code(tmp_path: Path) -> None:
    trouble = WorkbookError("run.no_script", path="train.py")
    _publish_run("a", tmp_path, STAGES, "en", [], trouble=trouble)
    root = xml.parse(tmp_path / "junit.xml").getroot()
    assert (root.get("failures"), root.get("skipped")) == ("1", "4")
    assert "train.py" in root.findall(".//failure")[0].get("message", "")
    run_folder(tmp_path / "b", "b", [Outcome(stage, "good", "k", 1.0) for stage in STAGES])
    good = report.load_report(tmp_path / "b" / "report.json")
    unsent = Finding("RUN402", Status.FIX, "RUN402.not_sent", {"place": "obs://b/r", "error": "403"}, weight=400)
    bad = replace(good, findings=(*good.findings, unsent))
    root = xml.fromstring(junit.render_run(bad, tmp_path / "b", STAGES, "en"))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("5", "0", "1")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_option_writes_the_file_that_the_run_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lang: str
) -> None:
    outcomes = [Outcome("environment", "good", "k", 2.0), Outcome("migration", "cell_failed", "k", 1.0, 3, OOM)]
    run_folder(tmp_path / "demo", "demo", outcomes)

    def run(name: str, parameters: dict[str, str], **options: Any) -> report.Report:
        return _publish_run(name, tmp_path / name, STAGES, options["lang"], outcomes)

    monkeypatch.setattr(batch, "run", run)
    asked = tmp_path / "asked.xml"
    assert main(["run", "--name", "demo", "--lang", lang, "--junit", str(asked)]) == 1
    assert asked.read_text(encoding="utf-8") == (tmp_path / "demo" / "junit.xml").read_text(encoding="utf-8")
    told = [case["name"] for case, _ in cases(xml.parse(asked).getroot())]
    assert told == list(STAGES), "a case per notebook, and none called by a rule"
