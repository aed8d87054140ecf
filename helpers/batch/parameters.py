"""Parameters of notebooks, checked before anything starts: papermill alone only warns of an unknown one."""

from __future__ import annotations

import ast
import difflib
import json
import math
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError

BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
#: Set by the runner itself, so not the user's to give.
OURS = ("lang", "run_dir")


def declared(notebook: Path) -> dict[str, str]:
    """Parameter name -> declared type, read from the notebook's cell tagged `parameters`: each is `name: type = value`,
    and one without a type has that of its value.

    The cell is parsed here as papermill takes a second and more to be imported.
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    found: dict[str, str] = {}
    for cell in cells:
        if "parameters" in cell["metadata"].get("tags", ()):
            for node in ast.parse("".join(cell["source"])).body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    found[node.target.id] = ast.unparse(node.annotation)
                elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    value = node.value.value if isinstance(node.value, ast.Constant) else ""
                    found[node.targets[0].id] = type(value).__name__
    return found


def assign(given: dict[str, str], known: dict[str, dict[str, str]]) -> dict[str, dict[str, Any]]:
    """Stage -> typed parameters, of what each stage's notebook declares. `name` goes to every stage that declares it,
    `stage.name` to one.

    Raises WorkbookError for a name no notebook declares and for a value of the wrong type.
    """
    result: dict[str, dict[str, Any]] = {stage: {} for stage in known}
    for name, value in given.items():
        stage, _, short = name.rpartition(".")
        takers = [taker for taker in known if short in known[taker] and short not in OURS and stage in ("", taker)]
        if not takers:
            raise _unknown(name, known)
        for taker in takers:
            result[taker][short] = typed(short, value, known[taker][short])
    return result


def typed(name: str, value: str, kind: str) -> Any:
    """The text as the declared type."""
    try:
        if kind == "bool":
            return BOOLEANS[value.strip().lower()]
        return {"int": int, "float": float}.get(kind, str)(value)
    except (ValueError, KeyError):
        raise WorkbookError("run.parameter_type", name=name, value=value, kind=kind) from None


def at_least_one(**given: float) -> None:
    """Raises WorkbookError for a bound that would be none, or end everything: below 1, or no number."""
    for name, value in given.items():
        if not 1 <= value < math.inf:
            raise WorkbookError("run.not_positive", name=name, value=value)


def _unknown(name: str, known: dict[str, dict[str, str]]) -> WorkbookError:
    names = sorted({each for taken in known.values() for each in taken if each not in OURS})
    close = difflib.get_close_matches(name.rpartition(".")[2], names, 1)
    return WorkbookError("run.parameter_unknown", name=name, close=close or names, names=names)
