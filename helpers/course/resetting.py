"""Puts an exercise back as it was handed out; what the student had is kept aside under a number."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path
from typing import Any

from helpers.course.record import NAME, take_back
from helpers.course.registry import CAPSTONE, CAPSTONE_FOLDER, EXERCISES, tasks, tasks_of
from helpers.errors import WorkbookError, reason
from helpers.finding import Finding, Status
from helpers.notebook import ROOT, results_begin_at
from helpers.report import Report
from helpers.storage import open_storage, write_file
from helpers.words import Scalar, language

EVERY = "all"
#: A cell that students write has this tag with the task's id.
TAG = "task-"


def reset(
    exercise: str,
    notebook: str | os.PathLike[str] = "",
    *,
    run_dir: str | os.PathLike[str] = "runs/notebook",
    lang: str | None = None,
    project: Path = ROOT,
) -> Report:
    """Puts the cells of task `exercise` in `notebook` back, moves its run folder aside and its state to not_yet.

    exercise: an id of the exercises or `all`; `capstone` for its four stages, or `capstone_` and one of them. notebook:
    default the project's own in that language. Cells that the student added stay. Raises WorkbookError
    for a task or notebook that there is not, and where the notebook cannot be read.
    """
    tags, folder = _tags(exercise)
    source = _source(project, EXERCISES if folder == "" else CAPSTONE)
    path = Path(notebook) if notebook else project / "notebooks" / "course" / language(lang) / f"{source.stem}.ipynb"
    told = _read(path)
    fresh = _fresh(project, source, _language_of(told, lang))
    number = _next_number(path)
    backup = path.with_name(f"{path.stem}.backup-{number}{path.suffix}")
    changed = [cell["id"] for tag in tags.values() for cell in section(fresh, tag) if put_back(told, fresh, cell)]
    if changed:
        open_storage(str(path.parent)).write_bytes(backup.name, path.read_bytes())
        write_file(path, json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    base = Path(run_dir).expanduser()
    base = base if base.is_absolute() else results_begin_at() / base
    moved = [name for name in tags if _aside(base / folder / "course" / name, number)]
    key = "CRS003.reset" if changed else "CRS003.folder" if moved else "CRS003.as_it_was"
    back, warned = _not_yet(base / folder, list(tags))
    facts: dict[str, Any] = {"exercise": exercise, "path": str(path), "cells": len(changed), "moved": moved,
                             "backup": backup.name if changed else "", "not_yet": back}  # fmt: skip
    found = [Finding("CRS003", Status.OK, key, {**facts, "exercise": _said(exercise)}), *warned]
    if back:
        found.append(Finding("CRS003", Status.OK, "CRS003.not_yet", {"tasks": back}))
    return Report("course", "course_reset", tuple(found), facts=facts)


def _not_yet(base: Path, names: list[str]) -> tuple[list[str], list[Finding]]:
    """The tasks whose state the record had; where it cannot be taken back the cells are back all the same."""
    try:
        return take_back(base, names), []
    except WorkbookError as error:
        why: Scalar = {"say": error.key, "args": error.arguments}
    except OSError as error:
        why = reason(error)
    return [], [Finding("CRS003", Status.WARN, "CRS003.state_stays", {"path": str(base / NAME), "why": why})]


def _said(exercise: str) -> Scalar:
    every = exercise in (EVERY, CAPSTONE)
    return {"say": f"resetting.{exercise if every else 'one'}", "args": {} if every else {"name": exercise}}


def _tags(exercise: str) -> tuple[dict[str, str], str]:
    """Task -> what its cell's tag says, and the folder of the notebook's tasks below run_dir."""
    stages = tasks_of(CAPSTONE)
    if exercise == CAPSTONE or exercise in stages:
        chosen = stages if exercise == CAPSTONE else [exercise]
        return {name: stages[name].stage for name in chosen}, CAPSTONE_FOLDER
    if exercise != EVERY and exercise not in tasks():
        raise WorkbookError("resetting.unknown", given=exercise, known=[*tasks(), EVERY, CAPSTONE, *stages])
    return {name: name for name in (tasks() if exercise == EVERY else [exercise])}, ""


def section(fresh: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The cells of the task that students write. Raises WorkbookError where the notebook has none."""
    found = [cell for cell in fresh["cells"] if f"{TAG}{name}" in cell["metadata"].get("tags", [])]
    if not found:
        raise WorkbookError("resetting.no_cell", exercise=name)
    return found


def put_back(told: dict[str, Any], fresh: dict[str, Any], cell: dict[str, Any]) -> bool:
    """The cell as it was, in place; one that was deleted comes behind the one before it. Whether that changed it."""
    for mine in told["cells"]:
        if mine.get("id") == cell["id"]:
            if _text(mine) == _text(cell) and mine["cell_type"] == cell["cell_type"]:
                return False
            mine.clear()  # it may have become prose, by one key in Jupyter
            mine.update(cell)
            return True
    before = [each["id"] for each in fresh["cells"][: fresh["cells"].index(cell)]]
    at = max((number for number, mine in enumerate(told["cells"], 1) if mine.get("id") in before), default=0)
    told["cells"].insert(at, dict(cell))
    return True


def _source(project: Path, notebook: str = EXERCISES) -> Path:
    found = sorted((project / "notebooks" / "source" / "course").glob(f"*_{notebook}.py"))
    if len(found) != 1:
        raise WorkbookError("resetting.no_source", path=str(project), found=len(found))
    return found[0]


def _fresh(project: Path, source: Path, lang: str) -> dict[str, Any]:
    """The notebook as notebooks/build.py makes it of its source."""
    import nbformat

    spec = importlib.util.spec_from_file_location("notebook_build", project / "notebooks" / "build.py")
    if spec is None or spec.loader is None:
        raise WorkbookError("resetting.no_source", path=str(project), found=0)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: dict[str, Any] = json.loads(nbformat.writes(module.build(source, lang)))
    return made


def _read(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        if all(isinstance(cell["cell_type"], str) for cell in told["cells"]):
            return dict(told)
    except FileNotFoundError as error:
        raise WorkbookError("resetting.no_notebook", path=str(path)) from error
    except (ValueError, LookupError, TypeError) as error:
        raise WorkbookError("resetting.unreadable", path=str(path), error=str(error)[:200]) from error
    raise WorkbookError("resetting.unreadable", path=str(path), error="cell_type")


def _language_of(told: dict[str, Any], lang: str | None) -> str:
    """As the notebook's parameters say."""
    text = "\n".join(_text(cell) for cell in told["cells"] if cell["cell_type"] == "code")
    found = re.search(r"""^lang: str = ["'](zh|en)["']""", text, re.M)
    return found[1] if found else language(lang)


def _text(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def _next_number(path: Path) -> int:
    numbers = [re.search(r"\.backup-(\d+)\.", each.name) for each in path.parent.glob(f"{path.stem}.backup-*")]
    return max((int(each[1]) for each in numbers if each), default=0) + 1


def _aside(folder: Path, number: int) -> bool:
    """The task's run folder, kept under the same number or the next that is free."""
    if not folder.is_dir():
        return False
    while folder.with_name(f"{folder.name}.backup-{number}").exists():
        number += 1
    folder.rename(folder.with_name(f"{folder.name}.backup-{number}"))
    return True
