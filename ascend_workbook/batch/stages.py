"""The stages of a run, their notebooks, and the folder that a run is kept in."""

from __future__ import annotations

import os
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError

STAGES = ("environment", "migration", "precision", "profiling")
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


def find_notebooks(stages: tuple[str, ...], folder: Path) -> dict[str, Path]:
    """Find the notebook of each stage (`02_migration.ipynb`), in the workbook's order."""
    notebooks: dict[str, Path] = {}
    for stage in stages:
        paths = sorted(folder.glob(f"*_{stage}.ipynb"))
        if not paths:
            raise WorkbookError("run.no_notebook", stage=stage, folder=str(folder), known=list(STAGES))
        notebooks[stage] = paths[0]
    return notebooks


def run_folder(name: str, root: str | os.PathLike[str]) -> Path:
    """Return the folder that a run is kept in. Raises WorkbookError for what is no plain folder name."""
    if not name or name in (".", "..") or any(letter in name for letter in "/\\"):
        raise WorkbookError("run.name", name=name)
    return (Path(root) / name).resolve()
