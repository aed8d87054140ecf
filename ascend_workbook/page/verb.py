"""`page`: the page of a run's folder or of a report's JSON, drawn anew from what they hold."""

from __future__ import annotations

from pathlib import Path

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, load_report
from ascend_workbook.page.render import draw_run, render_report
from ascend_workbook.storage import open_storage

RULE = "RUN420"


def draw_page(source: str | Path, *, out: str | Path = "", lang: str | None = None) -> Report:
    """Draw the page of a run's folder as its index.html, or of a report's JSON as a file beside it; `out` names another
    file. The report's fact `page` is the path. Raises WorkbookError where there is nothing to draw."""
    path = Path(source)
    if path.is_dir():
        page = draw_run(path, lang, out=Path(out) if out else None)
    else:
        text = render_report(load_report(path), lang)
        page = Path(out) if out else path.with_suffix(".html")
        open_storage(str(page.parent)).write_text(page.name, text)
    finding = Finding(RULE, Status.GOOD, "RUN420.drawn", {"path": str(page), "kib": page.stat().st_size // 1024})
    return Report("batch", "page", (finding,), facts={"page": str(page)})
