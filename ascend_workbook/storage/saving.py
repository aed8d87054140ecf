"""A report kept as files: its JSON and its page."""

from __future__ import annotations

import os
from pathlib import Path

from ascend_workbook.findings.report import Report
from ascend_workbook.storage import open_storage


def save_report(report: Report, folder: str | os.PathLike[str], lang: str | None, *, name: str) -> Path:
    """Write `<name>.json` and `<name>.html` into the folder, each at once or not at all; return the page's path."""
    storage = open_storage(os.fspath(folder))
    storage.write_text(f"{name}.html", report.html(lang))
    storage.write_text(f"{name}.json", report.to_json())
    return Path(folder) / f"{name}.html"
