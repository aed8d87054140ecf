"""The Chinese notebooks run headless through the command, as a newcomer runs them: four green stages, one page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ascend_workbook.batch import STAGES
from ascend_workbook.cli.main import main
from ascend_workbook.findings.report import load_report
from ascend_workbook.page.first import TABS
from tests.conftest import ROOT
from tests.page.reading import read_page, said_on

REFERENCES = json.loads((ROOT / "tests" / "reference" / "parameters.json").read_text(encoding="utf-8"))
PARAMETERS = {stem: values for stem, values in REFERENCES.items() if stem[3:] in STAGES}  # what `run` runs unasked


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, simulator_env: dict[str, str]) -> Path:
    """One run of all four in Chinese, with the references' parameters."""
    root = tmp_path_factory.mktemp("runs")
    arguments = ["run", "--name", "zh", "--root", str(root), "--lang", "zh"]
    for stem, values in PARAMETERS.items():
        for name, value in values.items():
            if name not in ("run_dir", "device"):
                arguments += ["-p", f"{stem[3:]}.{name}", str(value)]
    assert main(arguments) == 0
    return root / "zh"


def test_all_stages_are_green(finished: Path) -> None:
    report = load_report(finished / "report.json")
    assert [outcome["state"] for outcome in report.facts["outcomes"]] == ["good"] * len(STAGES)
    assert report.simulated and report.tier == "npu-simulated"


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_left_its_report(finished: Path, stage: str) -> None:
    report = load_report(finished / stage / "report.json")
    assert report.stage == stage and report.simulated
    assert not list((finished / stage).glob("*.html")), "its page is a tab of the run's"


def test_the_page_joins_them(finished: Path) -> None:
    page = (finished / "index.html").read_text(encoding="utf-8")
    data = read_page(page)
    assert [answer["stage"] for answer in data["answers"]] == list(STAGES) and set(data["tabs"]) == {
        TABS[stage] for stage in STAGES
    }
    assert data["simulated"] is True and "模拟 NPU" in said_on(page, "zh")
    assert {f"{stage}/report.json" for stage in STAGES} <= set(data["run"]["files"])
    assert not re.search(r"""<[^>]* (src|href)="(?!data:)""", page.partition("<script")[0]), "all is inside"


def test_a_second_run_reuses_everything(finished: Path) -> None:
    arguments = ["run", "--name", "zh", "--root", str(finished.parent), "--lang", "zh"]
    for stem, values in PARAMETERS.items():
        for name, value in values.items():
            if name not in ("run_dir", "device"):
                arguments += ["-p", f"{stem[3:]}.{name}", str(value)]
    assert main(arguments) == 0
    assert all(outcome["reused"] for outcome in load_report(finished / "report.json").facts["outcomes"])
