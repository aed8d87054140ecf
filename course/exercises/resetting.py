"""Puts an exercise back as it was handed out; what the student had is kept aside under a number."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence, choose_language
from ascend_workbook.machine.project import ROOT, results_begin_at
from ascend_workbook.storage import open_storage, write_file
from course.exercises.listing import tasks_of
from course.exercises.record import NAME, take_back
from course.exercises.task import CAPSTONE, CAPSTONE_FOLDER, EXERCISES, PLANNING, load_tasks

EVERY = "all"
#: A cell that students write has this tag with the task's id.
TAG = "task-"


def reset_exercise(
    exercise: str,
    notebook: str | os.PathLike[str] = "",
    *,
    run_dir: str | os.PathLike[str] = "runs/notebook",
    lang: str | None = None,
    project: Path = ROOT,
) -> Report:
    """Put the cells of task `exercise` in `notebook` back, move its run folder aside and its state to not_yet.

    exercise: an id of the exercises or `all`; `planning` for the two of that lesson, or the id of one; `capstone` for
    its four stages, or `capstone_` and one of them. notebook: default the project's own in that language. Cells that
    the student added stay. Raises WorkbookError for a task or notebook that there is not, and where the notebook
    cannot be read.
    """
    tags, asked_in = _find_tags(exercise)
    folder, source = CAPSTONE_FOLDER if asked_in == CAPSTONE else "", _find_source(project, asked_in)
    own = project / "notebooks" / "course" / choose_language(lang) / f"{source.stem}.ipynb"
    path = Path(notebook) if notebook else own
    opened = _read_notebook(path)
    text = "\n".join(_text_of(cell) for cell in opened["cells"] if cell["cell_type"] == "code")
    match = re.search(r"""^lang: str = ["'](zh|en)["']""", text, re.M)
    fresh = _build_notebook(project, source, match[1] if match else choose_language(lang))
    backups = [re.search(r"\.backup-(\d+)\.", backup.name) for backup in path.parent.glob(f"{path.stem}.backup-*")]
    number = max((int(backup[1]) for backup in backups if backup), default=0) + 1
    backup = path.with_name(f"{path.stem}.backup-{number}{path.suffix}")
    changed = [
        cell["id"] for tag in tags.values() for cell in cells_of_task(fresh, tag) if put_back(opened, fresh, cell)
    ]
    if changed:
        open_storage(str(path.parent)).write_bytes(backup.name, path.read_bytes())
        write_file(path, (json.dumps(opened, indent=1, ensure_ascii=False) + "\n").encode("utf-8"))
    base = results_begin_at() / Path(run_dir).expanduser()
    moved = [name for name in tags if _move_aside(base / folder / "course" / name, number)]
    key = "CRS003.reset" if changed else "CRS003.folder" if moved else "CRS003.as_it_was"
    back, warned = _not_yet(base / folder, list(tags))
    facts: dict[str, Any] = {
        "exercise": exercise,
        "path": str(path),
        "cells": len(changed),
        "moved": moved,
        "backup": backup.name if changed else "",
        "not_yet": back,
    }
    every = exercise in (EVERY, CAPSTONE, PLANNING)
    exercise_name = Sentence(f"resetting.{exercise}") if every else Sentence("resetting.one", name=exercise)
    findings = [Finding("CRS003", Status.GOOD, key, {**facts, "exercise": exercise_name}), *warned]
    if back:
        findings.append(Finding("CRS003", Status.GOOD, "CRS003.not_yet", {"tasks": back}))
    return Report("course", "course_reset", tuple(findings), facts=facts)


def _not_yet(base: Path, names: list[str]) -> tuple[list[str], list[Finding]]:
    """Return the tasks whose state the record had; where it cannot be taken back the cells are back all the same."""
    try:
        return take_back(base, names), []
    except WorkbookError as error:
        why: Scalar = Sentence(error.key, **error.arguments)
    except OSError as error:
        why = explain_os_error(error)
    return [], [Finding("CRS003", Status.LOOK, "CRS003.state_stays", {"path": str(base / NAME), "why": why})]


def _find_tags(exercise: str) -> tuple[dict[str, str], str]:
    """Return each task with its cell's tag, and the notebook that asks them."""
    stages, planning = tasks_of(CAPSTONE), load_tasks(PLANNING)
    if exercise == CAPSTONE or exercise in stages:
        chosen = stages if exercise == CAPSTONE else [exercise]
        return {name: stages[name].stage for name in chosen}, CAPSTONE
    if exercise == PLANNING or exercise in planning:
        return {name: name for name in (planning if exercise == PLANNING else [exercise])}, PLANNING
    if exercise != EVERY and exercise not in load_tasks():
        known = [*load_tasks(), EVERY, *planning, PLANNING, CAPSTONE, *stages]
        raise WorkbookError("resetting.unknown", given=exercise, known=known)
    return {name: name for name in (load_tasks() if exercise == EVERY else [exercise])}, EXERCISES


def cells_of_task(fresh: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the cells of the task that students write. Raises WorkbookError where the notebook has none."""
    cells = [cell for cell in fresh["cells"] if f"{TAG}{name}" in cell["metadata"].get("tags", [])]
    if not cells:
        raise WorkbookError("resetting.no_cell", exercise=name)
    return cells


def put_back(opened: dict[str, Any], fresh: dict[str, Any], cell: dict[str, Any]) -> bool:
    """Put the cell back in place, a deleted one behind the one before it; return whether that changed the notebook."""
    for mine in opened["cells"]:
        if mine.get("id") == cell["id"]:
            if _text_of(mine) == _text_of(cell) and mine["cell_type"] == cell["cell_type"]:
                return False
            mine.clear()  # it may have become prose, by one key in Jupyter
            mine.update(cell)
            return True
    before = [earlier["id"] for earlier in fresh["cells"][: fresh["cells"].index(cell)]]
    at = max((number for number, mine in enumerate(opened["cells"], 1) if mine.get("id") in before), default=0)
    opened["cells"].insert(at, dict(cell))
    return True


def _find_source(project: Path, notebook: str = EXERCISES) -> Path:
    sources = sorted((project / "notebooks" / "source" / "course").glob(f"*_{notebook}.py"))
    if len(sources) != 1:
        raise WorkbookError("resetting.no_source", path=str(project), found=len(sources))
    return sources[0]


def _build_notebook(project: Path, source: Path, lang: str) -> dict[str, Any]:
    """Return the notebook as notebooks/build.py makes it of its source."""
    import nbformat

    spec = importlib.util.spec_from_file_location("notebook_build", project / "notebooks" / "build.py")
    if spec is None or spec.loader is None:
        raise WorkbookError("resetting.no_source", path=str(project), found=0)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    notebook: dict[str, Any] = json.loads(nbformat.writes(module.build(source, lang)))
    return notebook


def _read_notebook(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if all(isinstance(cell["cell_type"], str) for cell in content["cells"]):
            return dict(content)
    except FileNotFoundError as error:
        raise WorkbookError("resetting.no_notebook", path=str(path)) from error
    except (ValueError, LookupError, TypeError) as error:
        raise WorkbookError("resetting.unreadable", path=str(path), error=str(error)[:200]) from error
    raise WorkbookError("resetting.unreadable", path=str(path), error="cell_type")


def _text_of(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def _move_aside(folder: Path, number: int) -> bool:
    """Move the task's run folder aside, under the same number or the next that is free."""
    if not folder.is_dir():
        return False
    while folder.with_name(f"{folder.name}.backup-{number}").exists():
        number += 1
    folder.rename(folder.with_name(f"{folder.name}.backup-{number}"))
    return True
