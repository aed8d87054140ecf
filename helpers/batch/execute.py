"""One notebook through papermill, and what became of it. A stop in the middle is seen as stopped, never as good."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from helpers import report as reports
from helpers.errors import WorkbookError
from helpers.finding import Status
from helpers.report import Report
from helpers.storage import open_storage

GOOD, RED, FAILED, DIED, STOPPED, TIMED_OUT = "good", "red", "cell_failed", "kernel_died", "stopped", "timed_out"


@dataclass(frozen=True)
class Outcome:
    """What became of a stage's notebook; `state` is one of the constants above, `cell` counts code cells from 1."""

    stage: str
    state: str
    key: str
    seconds: float = 0.0
    cell: int | None = None
    error: str = ""
    reused: bool = False


def execute(stage: str, notebook: Path, parameters: dict[str, Any], key: str, timeout_s: int) -> Outcome:
    """Runs the notebook into its stage folder; the outcome is written before (as stopped) and after."""
    folder = Path(parameters["run_dir"]) / stage
    folder.mkdir(parents=True, exist_ok=True)
    for stale in ("report.json", "report.html"):
        (folder / stale).unlink(missing_ok=True)
    _remember(folder, Outcome(stage, STOPPED, key))
    began = time.monotonic()
    outcome = _papermill(stage, notebook, folder, parameters, key, timeout_s)
    outcome = Outcome(**{**asdict(outcome), "seconds": round(time.monotonic() - began, 1)})
    _remember(folder, outcome)
    return outcome


def remembered(folder: Path) -> Outcome | None:
    """The outcome of an earlier run in the folder, or None."""
    try:
        return Outcome(**json.loads((folder / "outcome.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def saved_report(folder: Path) -> Report | None:
    """The stage's report where the notebook got far enough to write one."""
    path = folder / "report.json"
    return reports.load(path) if path.is_file() else None


def _papermill(
    stage: str, notebook: Path, folder: Path, parameters: dict[str, Any], key: str, timeout_s: int
) -> Outcome:
    import nbformat
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    logging.getLogger("traitlets").setLevel(logging.ERROR)
    target = folder / "notebook.ipynb"
    options: dict[str, Any] = {"execution_timeout": timeout_s, "autosave_cell_every": 0, "kernel_name": "python3"}
    try:
        papermill.execute_notebook(str(notebook), str(target), parameters=parameters, **options)
    except papermill.PapermillExecutionError as error:
        report = saved_report(folder)
        if error.ename == WorkbookError.__name__ and report is not None and report.status is Status.FAIL:
            return Outcome(stage, RED, key, cell=error.exec_count, error=report.verdict("en"))
        return Outcome(stage, FAILED, key, cell=error.exec_count, error=f"{error.ename}: {error.evalue}")
    except DeadKernelError as error:
        return Outcome(stage, DIED, key, cell=_last_started(target), error=str(error))
    except CellTimeoutError as error:
        return Outcome(stage, TIMED_OUT, key, cell=_last_started(target), error=str(error).split("\n")[0])
    cells = [cell for cell in nbformat.read(target, 4).cells if cell.cell_type == "code"]
    # sys.exit(0) in a cell ends the run without an error: the cells after it are pending
    for number, cell in enumerate(cells, 1):
        if cell.metadata.get("papermill", {}).get("status") != "completed":
            return Outcome(stage, FAILED, key, cell=number, error="the cell did not complete")
    return Outcome(stage, GOOD, key)


def _last_started(notebook: Path) -> int | None:
    """The number of the code cell that was running, counted from 1."""
    import nbformat

    cells = [cell for cell in nbformat.read(notebook, 4).cells if cell.cell_type == "code"]
    states = [cell.metadata.get("papermill", {}).get("status") for cell in cells]
    return next((number for number, state in enumerate(states, 1) if state != "completed"), None)


def _remember(folder: Path, outcome: Outcome) -> None:
    open_storage(str(folder)).write_text("outcome.json", json.dumps(asdict(outcome), indent=1))
