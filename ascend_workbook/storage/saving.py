"""A report kept as a file, and the mark of a folder of results."""

from __future__ import annotations

import os
from pathlib import Path

from ascend_workbook.findings.report import Report
from ascend_workbook.storage import open_storage

# What the workbook writes is no code of the user's: a folder of results carries a mark, by which a scan of the
# project around it leaves it out.

MARK = ".ascend-workbook-results"


def mark_results(folder: Path) -> None:
    """Make the folder, where it is not there, and mark it as one of results."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).touch()


def is_marked(folder: Path) -> bool:
    return (folder / MARK).exists()


def save_report(report: Report, folder: str | os.PathLike[str], *, name: str) -> Path:
    """Write `<name>.json` into the folder, at once or not at all; return its path."""
    open_storage(os.fspath(folder)).write_text(f"{name}.json", report.to_json())
    return Path(folder) / f"{name}.json"
