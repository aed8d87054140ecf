"""The page: whole without a script, closed to what is hostile, without credentials, asking nothing of a network."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.batch.execute import Outcome
from ascend_workbook.batch.workbook import summarize_run
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Column, Report, Table, load_report
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.page import render
from ascend_workbook.page.answers import height_of
from ascend_workbook.page.render import draw_run, read_bundle, render_report
from ascend_workbook.page.verb import draw_page
from ascend_workbook.redaction.exits import redact
from tests.conftest import ROOT
from tests.page.reading import read_page, said_on
from tests.page.recorded import FOLDER, NAMES, unpack_run

BUNDLE = ROOT / "tools" / "bundle"
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&quot;'`${x}"


def hostile_report(rows: int) -> Report:
    finding = Finding("MIG142", Status.LOOK, "report.of_rank", {"rank": HOSTILE, "title": HOSTILE})
    table = Table((Column("operator"), Column("place")), tuple((f"{HOSTILE}{row}", HOSTILE) for row in range(rows)))
    return Report("migration", "scan", (finding,), table)


@pytest.mark.parametrize("rows", [1, 900])
def test_nothing_hostile_is_markup_also_not_in_a_packed_piece(rows: int) -> None:
    page = render_report(hostile_report(rows), "en")
    assert len(re.findall(r"<script\b", page)) == 2 + page.count('<script type="text/plain"')
    assert "<img" not in page and "onerror=alert" not in page.replace("\\u003c", "<").split("<script", 1)[0]
    assert HOSTILE in said_on(page), "and it is all there"


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", NAMES)
def test_a_reader_without_scripts_has_the_answers(tmp_path: Path, name: str, lang: str) -> None:
    page = draw_run(unpack_run(name, tmp_path), lang).read_text(encoding="utf-8")
    told = page.split("<noscript>")[1].split("</noscript>")[0]
    assert told.count("<dt>") == 5
    data = read_page(page)
    at = ["en", "zh"].index(lang)
    for answer in data["answers"]:
        question = answer["question"] if isinstance(answer["question"], str) else answer["question"][at]
        assert question in told


@pytest.mark.parametrize("rows", [2, 4000])
def test_no_credential_reaches_the_page_nor_a_packed_piece(rows: int) -> None:
    secret = "AKIAPLANTED" + "Q" * 9
    table = Table((Column("evidence"),), tuple((f"password=PLANTED-{row}-{secret}",) for row in range(rows)))
    page = render_report(Report("environment", "machine_check", (), table), "en")
    assert ('type="text/plain"' in page) is (rows > 1000), "large enough to be packed"
    assert "PLANTED" not in json.dumps(read_page(page)) and "PLANTED" not in page


def test_what_writes_the_page_changes_nothing_in_it(tmp_path: Path) -> None:
    """The redactor goes over the written page once more: script and packed pieces come through whole."""
    page = draw_run(unpack_run("fault", tmp_path), "en").read_text(encoding="utf-8")
    assert redact(page) == page and read_bundle("bundle.js") in page and read_bundle("bundle.css") in page
    assert all(redact(read_bundle(name)) == read_bundle(name) for name in ("bundle.js", "bundle.css"))


def test_the_page_names_no_address_that_a_browser_would_ask(tmp_path: Path) -> None:
    page = draw_run(unpack_run("good", tmp_path), "en").read_text(encoding="utf-8")
    frame = page.replace(read_bundle("bundle.js"), "").split('id="data"')[0]
    assert not re.search(r'\b(?:src|href)=(?!"data:,")|@import|url\(', frame)
    assert not re.search(r"\bfetch\(|XMLHttpRequest|importScripts|new WebSocket|url\(", read_bundle("bundle.css"))


def test_paths_of_the_run_are_told_relative_to_it(tmp_path: Path) -> None:
    folder = unpack_run("good", tmp_path)
    table = Table((Column("evidence"),), ((f"{folder}/precision/x.json",),))
    Report("environment", "environment_check", (), table).save(folder / "environment")
    assert "precision/x.json" in said_on(draw_run(folder, "en").read_text()).splitlines()


def test_a_folder_without_reports_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError) as told:
        draw_page(tmp_path)
    assert told.value.key == "page.nothing" and not list(tmp_path.iterdir())


def test_a_report_gets_its_page_beside_it_or_where_it_is_told(tmp_path: Path) -> None:
    path = hostile_report(1).save(tmp_path)
    assert draw_page(path).facts["page"] == str(tmp_path / "report.html")
    other = tmp_path / "other" / "x.html"
    assert draw_page(path, out=other).facts["page"] == str(other) and other.is_file()


def test_a_damaged_stage_is_not_looked_at_and_the_rest_is_shown(tmp_path: Path) -> None:
    folder = unpack_run("good", tmp_path)
    whole = (folder / "precision" / "report.json").read_bytes()
    (folder / "precision" / "report.json").write_bytes(whole[: len(whole) // 2])
    data = read_page(draw_run(folder, "en").read_text(encoding="utf-8"))
    answers = {answer["stage"]: answer["status"] for answer in data["answers"]}
    assert answers["precision"] != 0 and answers["environment"] == 0 and "prec" not in data["tabs"]


def test_the_bundle_is_built_of_the_sources_that_are_there() -> None:
    """Its first line has the hash of all sources; `make bundle` writes it anew."""
    total = hashlib.sha256()
    for folder in ("src", "vendor"):
        for path in sorted((BUNDLE / folder).iterdir(), key=lambda path: path.name):
            total.update(f"{folder}/{path.name}\0".encode() + path.read_bytes())
    for name in ("bundle.js", "bundle.css"):
        assert total.hexdigest()[:16] in read_bundle(name).splitlines()[0], "run make bundle"


@pytest.mark.skipif(
    not shutil.which("node") or not (BUNDLE / "node_modules" / "esbuild").is_dir(),
    reason="esbuild is not there: make bundle",
)
def test_the_same_sources_give_the_same_bundle(tmp_path: Path) -> None:
    shutil.copytree(BUNDLE, tmp_path / "tools" / "bundle", symlinks=True)
    (tmp_path / "ascend_workbook" / "page").mkdir(parents=True)
    subprocess.run(["node", "build.mjs"], cwd=tmp_path / "tools" / "bundle", check=True, timeout=120)
    for name in ("bundle.js", "bundle.css"):
        assert (tmp_path / "ascend_workbook" / "page" / name).read_bytes() == (render.HERE / name).read_bytes()


def test_every_word_that_the_script_says_is_in_the_catalogue() -> None:
    used = set()
    for path in (BUNDLE / "src").glob("*.js"):
        used |= set(re.findall(r'\bw\("([a-z_.]+)"', path.read_text(encoding="utf-8")))
    words = render.collect_words()
    missing = {key for key in used if key not in words and not any(word.startswith(key) for word in words)}
    assert used and missing == set()


@pytest.mark.parametrize(
    ("error", "allowed", "height"),
    [(1.0, 1.0, 3), (0.0, 1.0, 0), (1e-9, 1.0, 0), (11.0, 1.0, 5), (1e10, 1e-320, 9), (1.0, float("nan"), 9),
     (float("nan"), 1.0, 9), (float("inf"), 1.0, 9), (1.0, 0.0, 9), (None, 1.0, -1), (1.0, None, -1), (-1.0, 1.0, 0)],
)  # fmt: skip
def test_an_errors_height_tells_how_far_it_is_from_what_is_allowed(error: object, allowed: object, height: int) -> None:
    assert height_of(error, allowed) == height


def test_a_plans_folder_is_not_overwritten_and_a_stages_is_told(tmp_path: Path) -> None:
    hostile_report(1).save(tmp_path)
    (tmp_path / "index.html").write_text("a plan's page")
    with pytest.raises(WorkbookError) as told:
        draw_page(tmp_path)
    assert told.value.key == "page.no_run" and (tmp_path / "index.html").read_text() == "a plan's page"


def test_a_plans_own_folder_is_told_though_its_report_is_of_run_too(tmp_path: Path) -> None:
    folder = unpack_run("good", tmp_path)
    (folder / "summary.json").write_text("{}")
    with pytest.raises(WorkbookError) as told:
        draw_page(folder)
    assert told.value.key == "page.no_run" and not (folder / "index.html").exists()


def test_a_run_that_is_not_as_its_reference_says_so_first(tmp_path: Path) -> None:
    folder = unpack_run("good", tmp_path)
    args = {"stage": Sentence("page.tab.prec"), "cells": [7], "compared": 3, "outputs": 3}
    differs = Finding("RUN430", Status.FIX, "RUN430.differs", args, Place("precision/notebook.ipynb"))
    words = ("ascend-workbook", "run", "plan.yaml", "--reference", "refs", "--only", "good")
    Report("batch", "reference", (differs,), command=words).save(folder, name="reference")
    card = read_page(draw_run(folder, "en").read_text(encoding="utf-8"))["cards"][0]
    assert (card["kind"], card["tab"], card["status"], card["command"]) == ("reference", "run", 3, [*words])


def stage_rows(folder: Path) -> dict[str, dict[str, Any]]:
    rows = read_page(draw_run(folder, "en").read_text(encoding="utf-8"))["run"]["stages"]
    return {row["tab"]: row for row in rows}


def test_a_run_that_kept_no_command_is_told_the_parameters_that_it_kept(tmp_path: Path) -> None:
    """`good` is of an older version: its outcomes and reports have no commands, and its own report no parameters."""
    folder = unpack_run("good", tmp_path)
    default = ["ascend-workbook", "run", "--name", "good", "--stage"]
    rows = stage_rows(folder)
    assert rows["prec"]["command"] == [*default, "precision"]
    assert "did not keep its parameters" in rows["prec"]["note"][0]
    given = {"steps": 9, "script": "a b.py", "lang": "zh", "run_dir": "/x", "hub_token": "hf_" + "PLANTED" * 5}
    content = {"metadata": {"papermill": {"parameters": given}}, "cells": []}
    (folder / "precision" / "notebook.ipynb").write_text(json.dumps(content))
    rows = stage_rows(folder)
    kept = [*default, "precision", "--lang", "zh", "-p", "steps", "9", "-p", "script", "a b.py", "-p", "hub_token"]
    assert rows["prec"]["command"][:-1] == kept and "PLANTED" not in json.dumps(rows) and "note" not in rows["prec"]
    assert "note" in rows["perf"], "the other stage has no notebook"
    report = load_report(folder / "report.json")
    replace(report, facts={**report.facts, "parameters": {"precision.steps": "9"}}).save(folder)
    rows = stage_rows(folder)
    assert rows["perf"]["command"] == ["ascend-workbook", "run", "--name", "good", "-p", "precision.steps", "9"]
    replace(report, command=("ascend-workbook", "run", "--name", "good", "--keep-going")).save(folder)
    assert stage_rows(folder)["perf"]["command"][-1] == "--keep-going"
    (folder / "precision" / "notebook.ipynb").write_text('{"metadata": []}')
    assert stage_rows(folder)["prec"]["command"][-1] == "--keep-going", "a damaged notebook tells nothing"


@pytest.mark.parametrize("state", ["timed_out", "kernel_died", "stopped"])
def test_what_ended_a_stage_weighs_more_than_what_it_had_saved(tmp_path: Path, state: str) -> None:
    folder = unpack_run("good", tmp_path)
    stages = ("environment", "migration", "precision")
    outcomes = [Outcome(stage, state if stage == "precision" else "good", "k", 9.0, 3, "x") for stage in stages]
    summarize_run("t", folder, outcomes, (*stages, "profiling"), "npu-simulated").save(folder)
    data = read_page(draw_run(folder, "en").read_text(encoding="utf-8"))
    answers = {answer["stage"]: answer["status"] for answer in data["answers"]}
    shown = {row["tab"]: row["status"] for row in data["run"]["stages"]}
    assert answers["precision"] == shown["prec"] == 3 and shown["perf"] == answers["profiling"] == 1
    assert data["cards"][0]["stage"] == "precision" and data["cards"][0]["status"] == 3


def test_no_recorded_run_names_a_folder_of_the_machine_that_made_it() -> None:
    for name in NAMES:
        with zipfile.ZipFile(FOLDER / f"{name}.zip") as archive:
            text = "".join(archive.read(each).decode() for each in archive.namelist())
        roots = set(re.findall(r'["\' ]/([a-z]+)/', text))
        assert roots <= {"home", "usr", "dev", "proc", "etc", "tmp", "var", "bin", "sbin"}, name
        assert not re.findall(r"/home/(?!me/)\w+", text)


def test_what_waits_for_another_stage_says_for_which(tmp_path: Path) -> None:
    data = read_page(draw_run(unpack_run("broken", tmp_path), "en").read_text(encoding="utf-8"))
    answers = {answer["stage"]: (answer["status"], answer["title"][0]) for answer in data["answers"]}
    assert answers["precision"] == answers["profiling"] == (1, "waits for Code") and answers["migration"][0] == 3
    assert {card["stage"] for card in data["cards"] if card["status"] == 3} == {"migration"}
    assert len({json.dumps(card["cause"]) for card in data["cards"]}) == len(data["cards"]), "one cause, one card"
    assert [row["status"] for row in data["run"]["stages"]] == [0, 3, 1, 1]
