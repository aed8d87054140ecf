"""A stage's executed notebook against its reference: first what must be equal for a comparison to mean anything."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.batch.reference.books import (
    Book,
    clean_book,
    count_unrun,
    injected_parameters,
    load_book,
    read_sources,
)
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
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
        compared_stages |= {held_stage.stage: held_stage for held_stage in _compare_ready(ready, own_rules)}
    return [compared_stages[stage] for stage in pairs]


def _check_readable(book: Book) -> Book:
    """Check that a notebook's parameters, code and counts can be read, and return it. Raises what its parameters, its
    code and its counts raise where one cannot be read.
    """
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
