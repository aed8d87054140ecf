"""Lines of the solutions that slipped into what students get."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from course.packing.choice import SOLUTIONS, Files

#: What the exercises start from.
SCRIPTS = "notebooks/course/scripts/"
#: A line of a solution as short as this may stand anywhere.
SHORT = 30


def find_leaks(every: Files, packed: Files) -> list[tuple[str, str]]:
    """Return (file, line) of what goes along and holds a line that the solutions alone should have.

    A solution quotes the exercise: lines that the exercise notebooks and the course's scripts have are no secret.
    """
    solved = [data for name, (_, data) in every.items() if SOLUTIONS in PurePosixPath(name).parts]
    asked = [
        data
        for name, (_, data) in packed.items()
        if "exercises" in PurePosixPath(name).name or name.startswith(SCRIPTS)
    ]
    public_lines = {line for data in asked for line in lines_of(data)}
    secret = {line for data in solved for line in lines_of(data) if len(line) >= SHORT} - public_lines
    return [(name, line) for name, (_, data) in sorted(packed.items()) for line in lines_of(data) if line in secret]


def lines_of(data: bytes) -> list[str]:
    """Return the lines of a text, of a notebook those of its cells. Nothing of what is no text. Nothing of what is no
    text.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return []
    if text.startswith("{") and '"cells"' in text:
        cells = json.loads(text).get("cells", [])
        text = "\n".join("".join(cell["source"]) for cell in cells)
    return [line.strip() for line in text.splitlines() if line.strip()]
