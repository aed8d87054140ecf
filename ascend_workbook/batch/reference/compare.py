"""Each good run of a plan against its blessed references; first what must be equal for it to mean anything."""

from __future__ import annotations

import ast
import json
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from typing import Any

from ascend_workbook.batch.campaign.ended import DIFFERS, GOOD, HELD, Ended
from ascend_workbook.batch.plan.model import Item, Plan
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Column, Listing, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence, choose_language, say
from ascend_workbook.machine import bounded
from ascend_workbook.page.render import draw_run
from ascend_workbook.storage import open_storage

PROJECT = Path(__file__).resolve().parents[3]
#: Metadata that belongs to one execution on one machine.
VOLATILE = ("papermill", "execution", "widgets")
#: Shorter ones are words of their own: / or /w must not be cut out of a text.
SHORTEST = 5
Book = dict[str, Any]


def load_book(path: Path) -> Book:
    """Load a notebook. Raises OSError, ValueError or KeyError for what is no notebook."""
    book: Book = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(book["cells"], list) or book.get("nbformat") != 4:
        raise ValueError("no notebook of format 4")
    return book


def machine_places(run: Path) -> dict[str, str]:
    """Return the texts of this machine and what stands for them, the longest first."""
    places_known = {
        str(run): "<RUN>",
        str(PROJECT): "<PROJECT>",
        str(Path.home()): "<HOME>",
        sys.prefix: "<PYTHON>",
        tempfile.gettempdir(): "<TMP>",
        socket.gethostname(): "<HOST>",
    }
    replaced = [text for text in places_known if len(text) >= SHORTEST or text == tempfile.gettempdir()]
    return {text: places_known[text] for text in sorted(replaced, key=len, reverse=True)}


def clean_book(book: Book, words: Mapping[str, str]) -> Book:
    """Clean a notebook of volatile metadata, warnings on stderr and the machine's places."""
    metadata = {name: content for name, content in book["metadata"].items() if name == "kernelspec"}
    cells = []
    for number, cell in enumerate(book["cells"]):
        kept_metadata = {name: content for name, content in cell["metadata"].items() if name not in VOLATILE}
        source = _replace_places(_join_source(cell["source"]), words)
        cells.append({**cell, "metadata": kept_metadata, "id": f"cell{number}", "source": source})
        if cell["cell_type"] == "code":
            outputs = [content for content in cell.get("outputs", ()) if content.get("name") != "stderr"]
            cells[-1]["outputs"] = [_replace_places(content, words) for content in outputs]
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _replace_places(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _replace_places(part, words) for name, part in value.items()}
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return _replace_places("".join(value), words)
    if isinstance(value, list):
        return [_replace_places(part, words) for part in value]
    for text, word in words.items() if isinstance(value, str) else ():
        value = value.replace(text, word)
    return value


def _join_source(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def code_cells(book: Book) -> list[Book]:
    """Return the code cells."""
    return [cell for cell in book["cells"] if cell["cell_type"] == "code"]


def injected_parameters(book: Book) -> dict[str, Any] | None:
    """Return the parameters that papermill injected; None where the notebook has no such cell."""
    for cell in code_cells(book):
        if "injected-parameters" in cell["metadata"].get("tags", ()):
            nodes = [node for node in ast.parse(_join_source(cell["source"])).body if isinstance(node, ast.Assign)]
            return {ast.unparse(node.targets[0]): ast.unparse(node.value) for node in nodes}
    return None


def read_sources(book: Book) -> list[str]:
    """Return the code of the cells, less the injected parameters. Their values are compared by name."""
    own = [cell for cell in code_cells(book) if "injected-parameters" not in cell["metadata"].get("tags", ())]
    return [_join_source(cell["source"]) for cell in own]


def count_unrun(book: Book) -> int:
    """Count the code cells without an execution count. nbval would compare nothing there, and say nothing."""
    unrun = [cell for cell in code_cells(book) if cell.get("execution_count") is None]
    return sum(bool(_join_source(cell["source"]).strip()) for cell in unrun)


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
    used where it is a file. A stage whose reference is absent, or was made of other code or with other parameters, is
    not compared and says so."""
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
        answer = _run_nbval(ready, own_rules)
        for stage in ready:
            rows = [row for row in answer.get("cells", []) if row["stage"] == stage]
            compared_stages[stage] = _judge_stage(stage, rows, answer)
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


def _run_nbval(ready: Mapping[str, tuple[Book, Book]], own_rules: Path) -> dict[str, Any]:
    """Run nbval and return its answer; {"error"} where it gave none."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environ.update(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTHONUTF8="1")
    with tempfile.TemporaryDirectory(prefix="reference-") as folder:
        storage = open_storage(folder)
        for stage, (executed, reference) in ready.items():
            storage.write_text(f"{stage}/executed.ipynb", json.dumps(executed))
            storage.write_text(f"{stage}/reference.ipynb", json.dumps(reference))
        rules = [path.read_text(encoding="ascii") for path in (RULES, own_rules) if path.is_file()]
        storage.write_text("sanitize.cfg", "\n".join(rules))
        command = [sys.executable, str(CHILD), folder]
        process = bounded.run_bounded(command, env=environ, timeout_s=TIMEOUT_S, cwd=folder)
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
    """Make the executed notebook of each pair the reference, once all of them can be. Raises WorkbookError, with
    nothing written, where one was not run to its end."""
    texts: dict[Path, str] = {}
    for executed, reference in pairs:
        try:
            book = clean_book(load_book(executed), words)
        except (OSError, ValueError, KeyError, TypeError) as cause:
            raise WorkbookError("plan.bless_unreadable", path=str(executed), error=str(cause)[:300]) from cause
        if count_unrun(book):
            raise WorkbookError("plan.bless_unrun", path=str(executed), count=count_unrun(book))
        texts[reference] = json.dumps(book, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    for reference, text in texts.items():
        open_storage(str(reference.parent)).write_text(reference.name, text)


COLUMNS = ("stage", "status", "compared_outputs", "reference_outputs", "differing_cells")


@dataclass(frozen=True)
class Reference:
    """`folder` has LANG/RUN/STAGE.ipynb, and sanitize.cfg where a plan has rules of its own; `bless` makes them.
    `command` has the words that compare the runs of the plan anew."""

    folder: Path
    bless: bool = False
    command: tuple[str, ...] = ()

    @classmethod
    def from_options(cls, folder: str, bless: bool, command: tuple[str, ...] = ()) -> Reference | None:
        """Make the reference from the options of a command line. Raises WorkbookError before anything runs."""
        if bless and not folder:
            raise WorkbookError("plan.bless_alone")
        if folder and not bless and not Path(folder).is_dir():
            raise WorkbookError("plan.no_reference", path=folder)
        return cls(Path(folder).resolve(), bless, (*command, "--reference", folder)) if folder else None


def compare_runs(
    runs: Iterable[Ended], plan: Plan, root: Path, reference: Reference | None, say_progress: Callable[[str], None]
) -> Iterator[Ended]:
    """Yield the runs as they end, those that are good compared with their references."""
    items = {item.name: item for item in plan.items}
    for ended in runs:
        if reference is None or ended.state != GOOD:
            _forget_comparison(root / ended.name, items[ended.name].lang)
            yield ended
        else:
            ended = _compare_run(ended, items[ended.name], root / ended.name, reference)
            verdict = ended.verdict if ended.state == DIFFERS else ended.notes[-1]
            say_progress(say("run.said", choose_language(), name=ended.name, said=verdict))
            yield ended


def _forget_comparison(folder: Path, lang: str) -> None:
    """Take a comparison of an earlier time off the run's page."""
    path = folder / "reference.json"
    if path.is_file():
        path.unlink()
        with suppress(WorkbookError):  # its reports cannot be read: there is no page to draw
            draw_run(folder, lang)


def _compare_run(ended: Ended, item: Item, folder: Path, reference: Reference) -> Ended:
    notes = list(ended.notes)
    words = machine_places(folder)
    below = reference.folder / item.lang / item.name
    pairs = {stage: (folder / stage / "notebook.ipynb", below / f"{stage}.ipynb") for stage in item.stages}
    try:
        bless_notebooks(pairs.values() if reference.bless else (), words)
    except WorkbookError as error:
        return replace(ended, state=DIFFERS, status=Status.FIX.json, verdict=Sentence(error.key, **error.arguments))
    stages = compare_stages(pairs, reference.folder / "sanitize.cfg", words)
    report = replace(make_report(stages, item.name), command=_make_command(reference, item.name, stages))
    open_storage(str(folder)).write_text("reference.json", report.to_json())
    draw_run(folder, item.lang)
    if report.status is Status.FIX and report.headline:
        sentence: Scalar = Sentence(report.headline.key, **report.headline.args)
        return replace(ended, state=DIFFERS, status=Status.FIX.json, verdict=sentence)
    counts = {"compared": report.facts["compared"], "outputs": report.facts["outputs"]}
    notes += [Sentence("plan.blessed")] if reference.bless else []
    return replace(ended, notes=(*notes, Sentence(HELD, **counts)))


#: What a comparison needs beside itself, where that is not a look at the differences.
REMEDIES = {**dict.fromkeys(("absent", "unreadable", "code", "unrun"), "--bless"), "run_unreadable": "--force"}


def _make_command(reference: Reference, run: str, stages: list[Held]) -> tuple[str, ...]:
    """Make the words that compare this run alone anew; empty where nobody told those of its plan."""
    wrong = next((held.key for held in stages if held.key != "same"), "")
    more = [REMEDIES[wrong]] if wrong in REMEDIES else []
    return (*reference.command, "--only", escape(run), *more) if reference.command else ()


def make_report(stages: list[Held], run: str) -> Report:
    """Make a report with a row per stage, and what differs below it."""
    rows: list[tuple[Scalar, ...]] = []
    findings = []
    for held in stages:
        status, stage = Status.GOOD if held.key == "same" else Status.FIX, Sentence(f"name.{held.stage}")
        rows.append((stage, status.name, held.compared, held.outputs, [row["cell"] for row in held.cells]))
        args: dict[str, Scalar] = {"stage": stage, **held.args}
        findings.append(Finding("RUN430", status, f"RUN430.{held.key}", args, Place(f"{held.stage}/notebook.ipynb")))
    text = "\n".join(_describe_cell(held.stage, row) for held in stages for row in held.cells)
    facts: dict[str, Any] = {"name": run}
    facts |= {name: sum(getattr(held, name) for held in stages) for name in ("compared", "outputs")}
    listing = Listing("reference_diff", text, "diff") if text else None
    table = Table(tuple(map(Column, COLUMNS)), tuple(rows))
    return Report("batch", "reference", tuple(findings), table, listing=listing, facts=facts)


def _describe_cell(stage: str, row: Mapping[str, object]) -> str:
    return f"{stage}/notebook.ipynb [{row['cell']}]\n{row['diff'] or row['said']}"
