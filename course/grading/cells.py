"""The code cells of a notebook as it was handed in, or one sentence that says why there are none."""

from __future__ import annotations

import json
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar
from course.grading.names import describe_inside

FORMAT = 4


def cells_of(data: bytes, path: str = "") -> list[dict[str, Any]]:
    """Return the code cells alone, as (source, tags); stored outputs are not looked at. The data is UTF-8 or UTF-16,
    with its mark or not. UTF-8 or UTF-16, with its mark or not.

    `path`: of the notebook inside the submission. Raises WorkbookError `grading.book_...`: it is empty, breaks off, is
    no JSON, no notebook, or one of another format.
    """
    what = describe_inside(path)
    parsed = _parse_notebook(data, what)
    if not isinstance(parsed, dict):
        raise WorkbookError("grading.book_kind", path=what, place="-")
    form = parsed.get("nbformat", FORMAT)
    if form != FORMAT:
        raise WorkbookError("grading.book_format", path=what, given=str(form)[:20], wanted=FORMAT)
    cells = parsed.get("cells")
    if not isinstance(cells, list):
        raise WorkbookError("grading.book_kind", path=what, place="cells")
    converted = [_read_cell(cell) for cell in cells]
    if None in converted:
        raise WorkbookError("grading.book_kind", path=what, place=f"cells[{converted.index(None)}]")
    return [cell for cell in converted if cell]


def _parse_notebook(data: bytes, what: Scalar) -> Any:
    if not data.strip(b"\0 \t\r\n"):
        raise WorkbookError("grading.book_empty", path=what, size=len(data))
    try:
        text = data.decode(json.detect_encoding(data)).removeprefix("\ufeff")
        return json.loads(text)
    except UnicodeDecodeError as error:
        raise WorkbookError("grading.book_text", path=what, at=error.start) from error
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip("\0 \t\r\n")) or error.msg.startswith("Unterminated")
        key = "grading.book_cut" if cut else "grading.book_json"
        raise WorkbookError(key, path=what, line=error.lineno, column=error.colno, size=len(data)) from error
    except (ValueError, RecursionError) as error:  # a number of many digits; brackets without end
        raise WorkbookError("grading.book_kind", path=what, place="-") from error


def _read_cell(cell: Any) -> dict[str, Any] | None:
    """Return source and tags; nothing of a cell that holds no code; None for what is no cell."""
    if not isinstance(cell, dict) or not isinstance(cell.get("cell_type"), str):
        return None
    if cell["cell_type"] != "code":
        return {}
    source, meta = cell.get("source"), cell.get("metadata")
    lines = [source] if isinstance(source, str) else source
    if not isinstance(lines, list) or not all(isinstance(item, str) for item in lines):
        return None
    tags = meta.get("tags") if isinstance(meta, dict) else None
    return {"source": "".join(lines), "tags": [str(item) for item in tags] if isinstance(tags, list) else []}
