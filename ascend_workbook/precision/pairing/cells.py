"""Names of MindSpore's cells as those of torch's modules, so that dumps of both frameworks pair.

msprobe calls an entry `Cell.fc1.Dense.forward.0` in MindSpore and `Module.fc1.Linear.forward.0` in PyTorch. Classes
that only go by another name are known here; what else differs is told by a file in the form of msprobe's
`--cell_mapping`, YAML of `target's name and class: baseline's name and class`.
https://www.mindspore.cn/docs/en/r2.6.0/note/api_mapping/pytorch_api_mapping.html"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError, explain_os_error

CELL, MODULE = "Cell.", "Module."
CLASSES = {"Dense": "Linear", "SequentialCell": "Sequential", "CellList": "ModuleList"}
#: A torch name for what MindSpore calls a parameter or buffer.
PARAMETERS = {
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
    "embedding_table": "weight",
}
LINE = re.compile(r"\s*(?P<left>[^\s:#'\"]+)\s*:\s+(?P<right>[^\s:#'\"]+)\s*(#.*)?")
#: A file of names is small.
LARGEST = 1 << 20


def read_cells(path: Path) -> dict[str, str]:
    """Read a file of names, a pair a line. Raises WorkbookError where a line is none, naming it."""
    try:
        if path.stat().st_size > LARGEST:
            raise WorkbookError("cells.too_large", path=str(path), mib=LARGEST >> 20)
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise WorkbookError("cells.unreadable", path=str(path), error=explain_os_error(error)) from error
    except UnicodeDecodeError as error:
        raise WorkbookError("cells.unreadable", path=str(path), error=str(error)) from error
    names: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#") or line.strip() == "---":
            continue
        match = LINE.fullmatch(line)
        if match is None or match["left"] in names:
            raise WorkbookError("cells.line", path=str(path), line=number)
        names[match["left"]] = match["right"]
    if not names:
        raise WorkbookError("cells.line", path=str(path), line=1)
    return names


def common_head(head: str, cells: Mapping[str, str]) -> str:
    """Return the name that a cell or module goes by on both sides: as the file tells, else with torch's class. Names of
    APIs stay."""
    if not head.startswith((CELL, MODULE)) or (not cells and head.startswith(MODULE)):
        return head
    return _translate_head(head, tuple(cells.items()))


@lru_cache(maxsize=1 << 16)
def _translate_head(head: str, cells: tuple[tuple[str, str], ...]) -> str:
    """As msprobe: the whole name first, else each name that is a part of it, once."""
    _, _, name = head.partition(".")
    if dict(cells).get(name):
        return MODULE + dict(cells)[name]
    renamed = name
    for mine, other in cells:
        renamed = renamed.replace(mine, other, 1)
    path, dot, kind = renamed.rpartition(".")
    return f"{MODULE}{path}{dot}{CLASSES.get(kind, kind) if head.startswith(CELL) else kind}"
