"""`run` and `run PLAN` cut off while they write: no stage is green that did not end. Their points: test_cut_off.py."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import nbformat
import pytest

from ascend_workbook.findings.report import load_report
from tests.batch.conftest import BODIES, PARAMETERS
from tests.conftest import ROOT
from tests.faults.points import KILLS, Attack, attack_points, expand
from tests.page.reading import read_page

STAGES = ("environment", "migration")
PLAN = "name: night\nstages: [environment]\nmatrix: {steps: [1, 2]}\nparameters: {device: cpu}\n"


def prepare(here: Path, code: str = BODIES["good"]) -> None:
    folder = here / "notebooks" / "en"
    folder.mkdir(parents=True)
    for number, stage in enumerate(STAGES, 1):
        body = code.replace("{stage}", stage).replace("{{", "{").replace("}}", "}")
        cells = [
            nbformat.v4.new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}),
            nbformat.v4.new_code_cell(body),
        ]
        book = nbformat.v4.new_notebook(cells=cells)
        book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(book, folder / f"{number:02}_{stage}.ipynb")
    (here / "plan.yaml").write_text(PLAN, encoding="utf-8")


def check_stage(folder: Path, stage: str) -> None:
    """What calls itself good has its report and every cell of its notebook."""
    assert load_report(folder / stage / "report.json").facts["steps"] in (1, 2, 3)
    cells = nbformat.read(folder / stage / "notebook.ipynb", 4).cells
    assert all(cell.metadata.papermill["status"] == "completed" for cell in cells)


def check_run(here: Path, stages: tuple[str, ...] = STAGES, name: str = "t") -> None:
    folder = here / name
    report = load_report(folder / "report.json")
    assert report.status.json == "Good", report.verdict("en")
    assert {outcome["state"] for outcome in report.facts["outcomes"]} == {"good"}
    for stage in stages:
        check_stage(folder, stage)
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>") and len(read_page(page)["tabs"]) == len(stages)
    assert ET.parse(folder / "junit.xml").getroot().get("tests") == str(len(stages))


def check_nothing_half(here: Path) -> None:
    """A file of ours with its final name is whole, and a stage that is called good is."""
    for path in here.rglob("*"):
        if path.name in ("notebook.ipynb", "plan.yaml") or not path.is_file() or "notebooks" in path.parts:
            continue
        text = path.read_text(encoding="utf-8") if path.suffix in (".json", ".html", ".xml") else ""
        if path.suffix == ".json":
            json.loads(text)
        elif path.suffix == ".html":
            assert text.rstrip().endswith("</html>"), path
        elif path.suffix == ".xml":
            ET.fromstring(text)
        if path.name == "outcome.json" and json.loads(text)["state"] == "good":
            check_stage(path.parent.parent, path.parent.name)
        if path.name == "ended.json" and json.loads(text)["state"] == "good":
            check_run(path.parent.parent, ("environment",), path.parent.name)
        if path.name == "report.json" and path.parent.name == "t" and json.loads(text)["status"] == "Good":
            check_run(here, tuple(outcome["stage"] for outcome in json.loads(text)["facts"]["outcomes"]))


def check_plan(here: Path) -> None:
    summary = json.loads((here / "night" / "summary.json").read_text(encoding="utf-8"))
    assert [run["state"] for run in summary["runs"]] == ["good", "good"]
    check_nothing_half(here)
    for run in ("steps=1", "steps=2"):
        check_run(here / "night", ("environment",), run)


def program(*words: str) -> tuple[str, ...]:
    common = ("--root", "{here}", "--lang", "en")
    return (sys.executable, "-m", "tests.faults.programs", "{here}", "run", *words, *common)


ORIGINALS = ("notebooks/**/*", "plan.yaml")
STAGE_WORDS = [word for stage in STAGES for word in ("--stage", stage)]
#: A stage that the disk failed in is red: exit code 1, and its page says why.
RUN = Attack(program("--name", "t", *STAGE_WORDS), prepare, check_run, check_nothing_half, ORIGINALS)
CAMPAIGN = Attack(program("{here}/plan.yaml", "--workers", "2"), prepare, check_plan, check_nothing_half, ORIGINALS)


def test_a_run_cut_off_goes_on(tmp_path: Path) -> None:
    """A few points of the shortest; the others are `full`."""
    short = Attack(program("--name", "t", "--stage", STAGES[0]), prepare, check_short, check_nothing_half, ORIGINALS)
    attack_points(short, tmp_path, KILLS[0], 2)


@pytest.mark.full
def test_an_interrupt_amid_a_cell_is_one_sentence(tmp_path: Path) -> None:
    prepare(tmp_path, "waiting = __import__('pathlib').Path(run_dir, 'waits').touch()\nimport time; time.sleep(60)")
    words = expand(RUN.words, tmp_path)
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        end = time.monotonic() + 100
        while not (tmp_path / "t" / "waits").exists() and time.monotonic() < end:
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) == 130 and process.stderr
        said = process.stderr.read()
    assert "Traceback" not in said and "IPKernelApp" not in said
    assert said.splitlines()[-1].startswith("stopped by the user in Environment: what has ended is kept")


def check_short(here: Path) -> None:
    check_run(here, STAGES[:1])
