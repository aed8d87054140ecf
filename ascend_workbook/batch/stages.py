"""The stages of a run: their notebooks, folder and parameters, checked before anything starts.

papermill alone only warns of an unknown parameter.
"""

from __future__ import annotations

import ast
import difflib
import json
import math
import os
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError

#: What a run and a plan run where they name no stages.
STAGES = ("environment", "migration", "precision", "profiling")
#: With those that run only where they are named.
ALL_STAGES = (*STAGES, "planning")
#: A stage's notebook is called as the stage is, but these.
NOTEBOOK_NAMES = {"planning": "plan"}
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


def find_notebooks(stages: tuple[str, ...], folder: Path) -> dict[str, Path]:
    """Find the notebook of each stage (`02_migration.ipynb`), in the workbook's order."""
    notebooks: dict[str, Path] = {}
    for stage in stages:
        paths = _list_notebooks(stage, folder)
        if not paths:
            raise WorkbookError("run.no_notebook", stage=stage, folder=str(folder), known=list(ALL_STAGES))
        notebooks[stage] = paths[0]
    return notebooks


def list_stages(folder: Path) -> tuple[str, ...]:
    """List the stages that have a notebook in the folder, in the workbook's order."""
    return tuple(stage for stage in ALL_STAGES if _list_notebooks(stage, folder))


def _list_notebooks(stage: str, folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*_{NOTEBOOK_NAMES.get(stage, stage)}.ipynb"))


def run_folder(name: str, root: str | os.PathLike[str]) -> Path:
    """Return the folder that a run is kept in. Raises WorkbookError for what is no plain folder name."""
    if not name or name in (".", "..") or any(letter in name for letter in "/\\"):
        raise WorkbookError("run.name", name=name)
    return (Path(root) / name).resolve()


BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
#: Set by the runner itself, so not the user's to give.
OURS = ("lang", "run_dir")


def declared_parameters(notebook: Path) -> dict[str, str]:
    """Read the declared types of parameters from the notebook's cell tagged `parameters`. Each is `name: type = value`,
    and one without a type has that of its value. The cell is parsed here as papermill takes a second and more to be
    imported."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    types: dict[str, str] = {}
    for cell in cells:
        if "parameters" in cell["metadata"].get("tags", ()):
            for node in ast.parse("".join(cell["source"])).body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    types[node.target.id] = ast.unparse(node.annotation)
                elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    value = node.value.value if isinstance(node.value, ast.Constant) else ""
                    types[node.targets[0].id] = type(value).__name__
    return types


def assign_parameters(texts: dict[str, str], declarations: dict[str, dict[str, str]]) -> dict[str, dict[str, object]]:
    """Assign typed parameters to each stage whose notebook declares them. `name` goes to every stage that declares it,
    `stage.name` to one. Raises WorkbookError for a name no notebook declares and for a value of the wrong type."""
    result: dict[str, dict[str, object]] = {stage: {} for stage in declarations}
    for name, value in texts.items():
        stage, _, short = name.rpartition(".")
        takers = [taker for taker in declarations if short in declarations[taker] and stage in ("", taker)]
        if not takers or short in OURS:
            names = sorted({plain for kinds in declarations.values() for plain in kinds if plain not in OURS})
            close = difflib.get_close_matches(short, names, 1)
            raise WorkbookError("run.parameter_unknown", name=name, close=close or names, names=names)
        for taker in takers:
            kind = declarations[taker][short]
            try:
                boolean = kind == "bool"
                convert = {"int": int, "float": float}.get(kind, str)
                result[taker][short] = BOOLEANS[value.strip().lower()] if boolean else convert(value)
            except (ValueError, KeyError):
                raise WorkbookError("run.parameter_type", name=short, value=value, kind=kind) from None
    return result


def check_at_least_one(**bounds: float) -> None:
    """Raise WorkbookError for a bound below 1, or one that is no number: it would bound nothing, or end everything."""
    for name, value in bounds.items():
        if not 1 <= value < math.inf:
            raise WorkbookError("run.not_positive", name=name, value=value)
