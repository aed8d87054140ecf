"""Where the project lies, and where results go."""

from __future__ import annotations

import json
import os
from pathlib import Path

#: The project's folder: relative paths in notebook parameters start here, wherever the kernel was started.
ROOT = Path(__file__).resolve().parents[2]
#: Where relative result folders begin, if not at the project.
RUNS = "ASCEND_WORKBOOK_RUNS"


#: The words that repeat a stage, as JSON: a run tells them to its notebooks, which say them in their reports.
COMMAND = "ASCEND_WORKBOOK_STAGE_COMMAND"


def read_stage_command() -> tuple[str, ...]:
    """Return the words that repeat the stage which runs here; none where no run started it."""
    return tuple(json.loads(os.environ.get(COMMAND, "[]")))


def results_begin_at() -> Path:
    """Return the folder below which relative result folders lie: `$ASCEND_WORKBOOK_RUNS`; else the project.

    `~/ascend-workbook` where the project is an installation that this user cannot write, as on a server many share,
    or lies among the packages of a Python (`pip install .`), where nobody looks for results.
    """
    folder = os.environ.get(RUNS)
    if folder:
        return Path(folder).expanduser().resolve()
    installed = ROOT.name in ("site-packages", "dist-packages")
    here = not installed and (os.access(ROOT, os.W_OK) or not ROOT.exists())
    return ROOT if here else Path("~/ascend-workbook").expanduser()
