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

from helpers import bounded
from helpers.batch.reference.books import Book, cleaned, given, load, sources, unrun
from helpers.errors import WorkbookError
from helpers.storage import open_storage

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


def stages(pairs: Mapping[str, tuple[Path, Path]], own: Path, words: Mapping[str, str]) -> list[Held]:
    """Holds each stage's (executed, reference); `own` are rules for the outputs beside ours, used where it is a file.

    A stage whose reference is absent, or was made of other code or with other parameters, is not compared and says so.
    """
    told: dict[str, Held] = {}
    ready: dict[str, tuple[Book, Book]] = {}
    for stage, (executed, reference) in pairs.items():
        path, key = executed, "run_unreadable"
        try:
            run = _whole(cleaned(load(executed), words))
            path, key = reference, "unreadable"
            trouble = _unlike(run, ready_book := _whole(load(reference)))
        except (OSError, ValueError, KeyError, TypeError, SyntaxError) as error:
            absent = path == reference and isinstance(error, FileNotFoundError)
            said = {"path": str(path), "error": str(error)[:300]}
            trouble = ("absent", {"path": str(path)}) if absent else (key, said)
        if trouble:
            told[stage] = Held(stage, *trouble)
        else:
            ready[stage] = run, ready_book
    if ready:
        told |= {held.stage: held for held in _compared(ready, own)}
    return [told[stage] for stage in pairs]


def _whole(book: Book) -> Book:
    """The same. Raises what its parameters, its code and its counts raise where one cannot be read."""
    given(book), sources(book), unrun(book)
    return book


def _unlike(executed: Book, reference: Book) -> tuple[str, dict[str, Any]] | None:
    """Why a comparison would say nothing."""
    here, there = given(executed) or {}, given(reference) or {}
    other = [name for name in sorted({*here, *there}) if here.get(name) != there.get(name)]
    if other:
        said = [{"name": name, "there": there.get(name), "here": here.get(name)} for name in other]
        return "parameters", {"values": [{"say": "plan.reference_value", "args": args} for args in said]}
    code, before = sources(executed), sources(reference)
    if code != before:
        cell = next((number for number, pair in enumerate(zip(code, before), 1) if pair[0] != pair[1]), 0)
        return "code", {"cell": cell or min(len(code), len(before)) + 1}
    if unrun(reference):
        return "unrun", {"count": unrun(reference)}
    return None


def _compared(ready: Mapping[str, tuple[Book, Book]], own: Path) -> list[Held]:
    with tempfile.TemporaryDirectory(prefix="reference-") as folder:
        storage = open_storage(folder)
        for stage, (executed, reference) in ready.items():
            storage.write_text(f"{stage}/executed.ipynb", json.dumps(executed))
            storage.write_text(f"{stage}/reference.ipynb", json.dumps(reference))
        rules = [path.read_text(encoding="ascii") for path in (RULES, own) if path.is_file()]
        storage.write_text("sanitize.cfg", "\n".join(rules))
        answer = _answer(folder)
    rows = answer.get("cells", [])
    return [_judged(stage, [row for row in rows if row["stage"] == stage], answer) for stage in ready]


def _answer(folder: str) -> dict[str, Any]:
    """What nbval says; {"error"} where it did not come to say anything."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environ.update(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTHONUTF8="1")
    done = bounded.run([sys.executable, str(CHILD), folder], env=environ, timeout_s=TIMEOUT_S, cwd=folder)
    try:
        answer: dict[str, Any] = json.loads(Path(folder, "answer.json").read_text(encoding="utf-8"))
        return answer
    except (OSError, ValueError):
        return {"error": {"say": "plan.reference_timeout"} if done.timed_out else done.last_error}


def _judged(stage: str, rows: list[Mapping[str, Any]], answer: Mapping[str, Any]) -> Held:
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


def bless(pairs: Iterable[tuple[Path, Path]], words: Mapping[str, str]) -> None:
    """Makes the executed notebook of each (executed, reference) the reference, once all of them can be.

    Raises WorkbookError, with nothing written, where one was not run to its end."""
    for reference, text in [(reference, _blessed(executed, words)) for executed, reference in pairs]:
        open_storage(str(reference.parent)).write_text(reference.name, text)


def _blessed(executed: Path, words: Mapping[str, str]) -> str:
    try:
        book = cleaned(load(executed), words)
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise WorkbookError("plan.bless_unreadable", path=str(executed), error=str(cause)[:300]) from cause
    if unrun(book):
        raise WorkbookError("plan.bless_unrun", path=str(executed), count=unrun(book))
    return json.dumps(book, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
