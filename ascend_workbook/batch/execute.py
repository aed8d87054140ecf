"""One notebook through papermill, and what became of it. A stop in the middle is seen as stopped, never as good."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ascend_workbook.batch import reuse
from ascend_workbook.batch.addresses import register_handler
from ascend_workbook.batch.fingerprint import join_hashes
from ascend_workbook.findings import report as reports
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.launch.child.reading import FOLDER as READS
from ascend_workbook.machine.project import COMMAND
from ascend_workbook.show.boxed import HEADLESS
from ascend_workbook.show.card import BESIDE
from ascend_workbook.storage import open_storage
from ascend_workbook.storage.local import name_in_errors

GOOD, RED, FAILED, DIED, STOPPED, TIMED_OUT = "good", "red", "cell_failed", "kernel_died", "stopped", "timed_out"
NOT_RUN = "not_run"
#: The word for what ended well and did not look at all that it was asked: never `good`, never `green`.
NOT_LOOKED = "run.not_looked"
#: What jupyter_client says of a kernel that died, or kept silent, before its first cell.
NO_START = ("Kernel died before replying", "Kernel didn't respond")


@dataclass(frozen=True)
class Outcome:
    """What became of a stage's notebook; `state` is one of the constants above, `cell` counts code cells from 1.
    `blocked_by` is the stage whose error it waits for, `command` repeats it."""

    stage: str
    state: str
    key: str
    seconds: float = 0.0
    cell: int | None = None
    error: str = ""
    reused: bool = False
    blocked_by: str = ""
    command: tuple[str, ...] = ()


def execute_notebook(
    stage: str,
    notebook: Path,
    parameters: dict[str, Any],
    parts: dict[str, str],
    timeout_s: int,
    command: tuple[str, ...] = (),
) -> Outcome:
    """Run the notebook into its stage folder and keep its outcome, before (as stopped) and after. `parts` are what its
    result depends on, as fingerprint.parts has them; `command` repeats it."""
    folder = Path(parameters["run_dir"]) / stage
    folder.mkdir(parents=True, exist_ok=True)
    # an earlier report that is not written again would be taken for this one; what a parameter names stays
    named_paths = {str(value) for value in parameters.values()}
    names = {"report", *(path.stem for path in folder.glob("*.json") if _is_report(path))}
    for stale in (folder / f"{name}{suffix}" for name in sorted(names) for suffix in (".json", ".html", ".png")):
        if not named_paths & {str(stale), str(stale.with_suffix(".json"))}:
            stale.unlink(missing_ok=True)
    key = join_hashes(parts)
    _save_outcome(folder, Outcome(stage, STOPPED, key, command=command))
    reads = reuse.forget_reads(folder)
    began = time.monotonic()
    variables = {HEADLESS: "1", READS: str(reads), BESIDE: str(folder.absolute()), COMMAND: json.dumps(command)}
    with _set_environment(variables):
        outcome = _run_papermill(stage, notebook, folder, parameters, key, timeout_s)
    outcome = replace(outcome, seconds=round(time.monotonic() - began, 1), command=command)
    reuse.keep_dependencies(folder, parts)
    _save_outcome(folder, outcome)
    return outcome


@contextmanager
def _set_environment(values: dict[str, str]) -> Iterator[None]:
    """Tell the kernel through the environment that nobody sits before it, and where to note what it opens."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def load_outcome(folder: Path) -> Outcome | None:
    """Load the outcome of an earlier run in the folder, or None."""
    try:
        content = json.loads((folder / "outcome.json").read_text(encoding="utf-8"))
        return Outcome(**{**content, "command": tuple(content.get("command", ()))})
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def saved_report(folder: Path) -> Report | None:
    """Load the stage's report, or None where there is none or a damaged one, which vouches for nothing."""
    with suppress(WorkbookError):
        return reports.load_report(folder / "report.json")
    return None


def _is_report(path: Path) -> bool:
    """Return whether the file is a report: one that can be read, or that an older version drew a page of."""
    with suppress(WorkbookError):
        return path.with_suffix(".html").is_file() or bool(reports.load_report(path))
    return False


def _run_papermill(
    stage: str, notebook: Path, folder: Path, parameters: dict[str, object], key: str, timeout_s: int
) -> Outcome:
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    logging.getLogger("traitlets").setLevel(logging.ERROR)
    register_handler()
    target = folder.absolute() / "notebook.ipynb"
    options: dict[str, object] = {"execution_timeout": timeout_s, "autosave_cell_every": 0, "kernel_name": "python3"}
    options["extra_arguments"] = ["--IPKernelApp.log_level=50"]  # else one that is ended amid a cell prints a traceback
    try:
        with name_in_errors(target):
            papermill.execute_notebook(str(notebook), str(target), parameters=parameters, **options)
    except papermill.PapermillExecutionError as error:
        report, ours = saved_report(folder), error.ename == WorkbookError.__name__
        if ours and report is not None and report.status is Status.FIX:
            return Outcome(stage, RED, key, cell=error.exec_count, error=report.verdict("en"))
        # the exception on one line; of one of ours the next step stands on a line of its own
        lines = [line.strip() for line in str(error.evalue).splitlines() if line.strip()]
        text = f"{error.ename}: {' → '.join(lines) if ours else error.evalue}"
        return Outcome(stage, FAILED, key, cell=error.exec_count, error=text)
    except DeadKernelError as error:
        return Outcome(stage, DIED, key, cell=_first_unfinished_cell(target), error=str(error))
    except RuntimeError as error:
        if not str(error).startswith(NO_START):
            raise
        return Outcome(stage, DIED, key, cell=1, error=str(error))
    except CellTimeoutError as error:
        return Outcome(stage, TIMED_OUT, key, cell=_first_unfinished_cell(target), error=str(error).split("\n")[0])
    # sys.exit(0) in a cell ends the run without an error: that cell and those after it did not complete
    unfinished = _first_unfinished_cell(target)
    if unfinished is not None:
        return Outcome(stage, FAILED, key, cell=unfinished, error="the cell did not complete")
    report = saved_report(folder)
    if report is not None and report.status is Status.FIX:  # a notebook that does not raise for its own verdict
        return Outcome(stage, RED, key, error=report.verdict("en"))
    return Outcome(stage, GOOD, key)


def _first_unfinished_cell(notebook: Path) -> int | None:
    """Return the number of the first code cell that did not complete, counted from 1. None where all did."""
    import nbformat

    cells = [cell for cell in nbformat.read(notebook, 4).cells if cell.cell_type == "code"]
    for number, cell in enumerate(cells, 1):
        # papermill calls one whose kernel died `completed`: the kernel must have answered for it too
        completed = cell.metadata.get("papermill", {}).get("status") == "completed"
        if cell.source.strip() and not (completed and "shell.execute_reply" in cell.metadata.get("execution", {})):
            return number
    return None


def _save_outcome(folder: Path, outcome: Outcome) -> None:
    open_storage(str(folder)).write_text("outcome.json", json.dumps(asdict(outcome), indent=1))
