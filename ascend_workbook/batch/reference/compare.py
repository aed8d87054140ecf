"""Each good run of a plan against its blessed references; first what must be equal for it to mean anything."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ascend_workbook.batch.campaign.ended import DIFFERS, GOOD, HELD, Ended
from ascend_workbook.batch.plan.model import Item, Plan
from ascend_workbook.batch.reference.books import (
    Book,
    clean_book,
    count_unrun,
    injected_parameters,
    load_book,
    machine_places,
    read_sources,
)
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Column, Listing, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence, choose_language, say
from ascend_workbook.machine import bounded
from ascend_workbook.storage import open_storage

CHILD = Path(__file__).parent / "child" / "replay.py"
RULES = Path(__file__).with_name("sanitize.cfg")
TIMEOUT_S = 300.0
#: Differing cells that are told of a stage.
MOST_TOLD = 20


@dataclass(frozen=True)
class Held:
    """What became of one stage: `key` is a sentence below `RUN430.`, `cells` are nbval's rows of the cells that
    differ; `compared` of `outputs` outputs of the reference were held against those of the run."""

    stage: str
    key: str
    args: Mapping[str, Any]
    compared: int = 0
    outputs: int = 0
    cells: tuple[Mapping[str, Any], ...] = ()


def compare_stages(pairs: Mapping[str, tuple[Path, Path]], own_rules: Path, words: Mapping[str, str]) -> list[Held]:
    """Compare each stage's executed notebook with its reference. `own_rules` are rules for the outputs beside ours,
    used where it is a file.

    A stage whose reference is absent, or was made of other code or with other parameters, is not compared and says so.
    """
    compared_stages: dict[str, Held] = {}
    ready: dict[str, tuple[Book, Book]] = {}
    for stage, (executed, reference) in pairs.items():
        path, key = executed, "run_unreadable"
        try:
            run = _check_readable(clean_book(load_book(executed), words))
            path, key = reference, "unreadable"
            trouble = _find_difference(run, ready_book := _check_readable(load_book(reference)))
        except (OSError, ValueError, KeyError, TypeError, SyntaxError) as error:
            absent = path == reference and isinstance(error, FileNotFoundError)
            trouble_args = {"path": str(path), "error": str(error)[:300]}
            trouble = ("absent", {"path": str(path)}) if absent else (key, trouble_args)
        if trouble:
            compared_stages[stage] = Held(stage, *trouble)
        else:
            ready[stage] = run, ready_book
    if ready:
        compared_stages |= {held.stage: held for held in _compare_ready(ready, own_rules)}
    return [compared_stages[stage] for stage in pairs]


def _check_readable(book: Book) -> Book:
    """Return the notebook; raises what its parameters, code and counts raise where one cannot be read."""
    injected_parameters(book), read_sources(book), count_unrun(book)
    return book


def _find_difference(executed: Book, reference: Book) -> tuple[str, dict[str, Any]] | None:
    """Return why a comparison would say nothing, or None."""
    here, there = injected_parameters(executed) or {}, injected_parameters(reference) or {}
    differing = [name for name in sorted({*here, *there}) if here.get(name) != there.get(name)]
    if differing:
        values = [{"name": name, "there": there.get(name), "here": here.get(name)} for name in differing]
        return "parameters", {"values": [Sentence("plan.reference_value", **args) for args in values]}
    code, before = read_sources(executed), read_sources(reference)
    if code != before:
        cell = next((number for number, pair in enumerate(zip(code, before), 1) if pair[0] != pair[1]), 0)
        return "code", {"cell": cell or min(len(code), len(before)) + 1}
    if count_unrun(reference):
        return "unrun", {"count": count_unrun(reference)}
    return None


def _compare_ready(ready: Mapping[str, tuple[Book, Book]], own_rules: Path) -> list[Held]:
    with tempfile.TemporaryDirectory(prefix="reference-") as folder:
        storage = open_storage(folder)
        for stage, (executed, reference) in ready.items():
            storage.write_text(f"{stage}/executed.ipynb", json.dumps(executed))
            storage.write_text(f"{stage}/reference.ipynb", json.dumps(reference))
        rules = [path.read_text(encoding="ascii") for path in (RULES, own_rules) if path.is_file()]
        storage.write_text("sanitize.cfg", "\n".join(rules))
        answer = _run_nbval(folder)
    rows = answer.get("cells", [])
    return [_judge_stage(stage, [row for row in rows if row["stage"] == stage], answer) for stage in ready]


def _run_nbval(folder: str) -> dict[str, Any]:
    """Run nbval and return its answer; {"error"} where it gave none."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environ.update(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTHONUTF8="1")
    process = bounded.run_bounded([sys.executable, str(CHILD), folder], env=environ, timeout_s=TIMEOUT_S, cwd=folder)
    try:
        answer: dict[str, Any] = json.loads(Path(folder, "answer.json").read_text(encoding="utf-8"))
        return answer
    except (OSError, ValueError):
        return {"error": Sentence("plan.reference_timeout") if process.timed_out else process.last_error}


def _judge_stage(stage: str, rows: list[Mapping[str, Any]], answer: Mapping[str, Any]) -> Held:
    outputs, compared = sum(row["outputs"] for row in rows), sum(row["compared"] for row in rows)
    wrong = tuple(row for row in rows if row["outcome"] not in ("passed", "skipped"))
    figures = {"compared": compared, "outputs": outputs}
    if not rows:
        return Held(stage, "failed", {"error": answer.get("error") or f"pytest {answer.get('code')}"})
    if wrong:
        numbers = [row["cell"] for row in wrong[:MOST_TOLD]]
        return Held(stage, "differs", {**figures, "cells": numbers}, compared, outputs, wrong[:MOST_TOLD])
    if not compared or compared * 2 < outputs:
        return Held(stage, "little", figures, compared, outputs)
    return Held(stage, "same", figures, compared, outputs)


def bless_notebooks(pairs: Iterable[tuple[Path, Path]], words: Mapping[str, str]) -> None:
    """Make the executed notebook of each pair the reference, once all of them can be.

    Raises WorkbookError, with nothing written, where one was not run to its end."""
    for reference, text in [(reference, _make_reference(executed, words)) for executed, reference in pairs]:
        open_storage(str(reference.parent)).write_text(reference.name, text)


def _make_reference(executed: Path, words: Mapping[str, str]) -> str:
    try:
        book = clean_book(load_book(executed), words)
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise WorkbookError("plan.bless_unreadable", path=str(executed), error=str(cause)[:300]) from cause
    if count_unrun(book):
        raise WorkbookError("plan.bless_unrun", path=str(executed), count=count_unrun(book))
    return json.dumps(book, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


COLUMNS = ("stage", "status", "compared_outputs", "reference_outputs", "differing_cells")


@dataclass(frozen=True)
class Reference:
    """`folder` has LANG/RUN/STAGE.ipynb, and sanitize.cfg where a plan has rules of its own; `bless` makes them."""

    folder: Path
    bless: bool = False

    @classmethod
    def from_options(cls, folder: str, bless: bool) -> Reference | None:
        """Make the reference from the options of a command line. Raises WorkbookError before anything runs."""
        if bless and not folder:
            raise WorkbookError("plan.bless_alone")
        if folder and not bless and not Path(folder).is_dir():
            raise WorkbookError("plan.no_reference", path=folder)
        return cls(Path(folder).resolve(), bless) if folder else None


def compare_runs(
    runs: Iterable[Ended], plan: Plan, root: Path, reference: Reference | None, say_progress: Callable[[str], None]
) -> Iterator[Ended]:
    """Yield the runs as they end, those that are good compared with their references."""
    items = {item.name: item for item in plan.items}
    for ended in runs:
        if reference is None or ended.state != GOOD:
            yield ended
        else:
            ended = _compare_run(ended, items[ended.name], root / ended.name, reference)
            verdict = ended.verdict if ended.state == DIFFERS else ended.notes[-1]
            say_progress(say("run.said", choose_language(), name=ended.name, said=verdict))
            yield ended


def _compare_run(ended: Ended, item: Item, folder: Path, reference: Reference) -> Ended:
    notes = list(ended.notes)
    words = machine_places(folder)
    below = reference.folder / item.lang / item.name
    pairs = {stage: (folder / stage / "notebook.ipynb", below / f"{stage}.ipynb") for stage in item.stages}
    try:
        bless_notebooks(pairs.values() if reference.bless else (), words)
    except WorkbookError as error:
        return replace(ended, state=DIFFERS, status="FAIL", verdict=Sentence(error.key, **error.arguments))
    report = make_report(compare_stages(pairs, reference.folder / "sanitize.cfg", words), item.name)
    storage = open_storage(str(folder))
    storage.write_text("reference.json", report.to_json())
    storage.write_text("reference.html", report.html(item.lang))
    if report.status is Status.FAIL and report.headline:
        sentence: Scalar = Sentence(report.headline.key, **report.headline.args)
        return replace(ended, state=DIFFERS, status="FAIL", verdict=sentence)
    counts = {"compared": report.facts["compared"], "outputs": report.facts["outputs"]}
    notes += [Sentence("plan.blessed")] if reference.bless else []
    return replace(ended, notes=(*notes, Sentence(HELD, **counts)))


def make_report(stages: list[Held], run: str) -> Report:
    """Make a report with a row per stage, and what differs below it."""
    rows = [
        (
            Sentence(f"name.{held.stage}"),
            "OK" if held.key == "same" else "FAIL",
            held.compared,
            held.outputs,
            [row["cell"] for row in held.cells],
        )
        for held in stages
    ]
    findings = tuple(_make_finding(held) for held in stages)
    text = "\n".join(_describe_cell(held.stage, row) for held in stages for row in held.cells)
    facts = {
        "name": run,
        "compared": sum(held.compared for held in stages),
        "outputs": sum(held.outputs for held in stages),
    }
    listing = Listing("reference_diff", text, "diff") if text else None
    return Report(
        "batch", "reference", findings, Table(tuple(map(Column, COLUMNS)), tuple(rows)), listing=listing, facts=facts
    )


def _make_finding(held: Held) -> Finding:
    status = Status.OK if held.key == "same" else Status.FAIL
    sentence_args: dict[str, Scalar] = {"stage": Sentence(f"name.{held.stage}"), **held.args}
    return Finding("RUN430", status, f"RUN430.{held.key}", sentence_args, Place(f"{held.stage}/notebook.ipynb"))


def _describe_cell(stage: str, row: Mapping[str, object]) -> str:
    return f"{stage}/notebook.ipynb [{row['cell']}]\n{row['diff'] or row['said']}"
