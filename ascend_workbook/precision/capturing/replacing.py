"""A capture where another lies already: refused, or written beside it and put in its place once it is whole."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.capturing import manifest

#: What is not yet whole, below the folder of the capture it will replace. After a failure its output.log stays here.
UNFINISHED = "capture.unfinished"
#: What two captures have in common where the later may replace the earlier unasked.
SAME = ("tier", "root", "script", "args")
LEFT = ("side.rank*.json", "budget.rank*.json", "gpulog*.json*", "over_limit.json", "dry.port", manifest.NAME)


def choose_folder(folder: Path, about: dict[str, Any], *, force: bool) -> Path:
    """Choose where to write: `folder` itself, or beside the whole capture in it, which stays until it is replaced.

    Raises WorkbookError where that one is of another device, script or arguments, unless `force`.
    """
    there = manifest.load_manifest(folder)
    whole = there is not None and there.complete
    if there is not None and whole and not force and any(there.about.get(name) != about[name] for name in SAME):
        raise WorkbookError(
            "precision.taken", path=str(folder), there=_describe_capture(there.about), wanted=_describe_capture(about)
        )
    shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
    target = folder / UNFINISHED if whole else folder
    target.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(target)
    return target


def replace_capture(new_folder: Path, folder: Path) -> None:
    """Puts a whole capture in the place of the earlier one; its capture.json comes last."""
    if new_folder == folder:
        return
    _remove_leftovers(folder)
    for path in sorted(new_folder.iterdir(), key=lambda path_below: path_below.name == manifest.NAME):
        path.replace(folder / path.name)
    new_folder.rmdir()


def _remove_leftovers(folder: Path) -> None:
    """Removes what an earlier capture left here, and nothing else."""
    for dump in (folder / manifest.DUMP, *folder.glob("dry.rank*")):
        shutil.rmtree(dump, ignore_errors=True)
    for stale in (path for pattern in LEFT for path in folder.glob(pattern)):
        stale.unlink(missing_ok=True)


def _describe_capture(about: dict[str, Any]) -> str:
    """Script, arguments and device of a capture."""
    script = Path(str(about.get("root", ""))) / str(about.get("script", "?"))
    return " ".join([str(script), *map(str, about.get("args", ())), f"({about.get('tier', '?')})"])
