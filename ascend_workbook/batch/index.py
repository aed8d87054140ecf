"""The run's index page: a row per stage with links, then each stage's report. Static, opens offline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ascend_workbook.batch.execute import Outcome, saved_report
from ascend_workbook.diagnose import explain_text
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report, Table
from ascend_workbook.findings.sentence import hint, say, show, title
from ascend_workbook.show import html, template

#: The files of a stage folder that the page links to, with their words.
LINKS = (("report.html", "run.link.report"), ("notebook.ipynb", "run.link.notebook"), ("report.json", "run.link.json"))


def render_page(result: Report, folder: Path, outcomes: list[Outcome], lang: str, acceptance: str = "") -> str:
    """Render the whole page."""
    assert result.table
    name = say("run.said", lang, name=title("run", lang), said=result.facts["name"])
    body = template.render_template(
        "run.html",
        name=name,
        result=result,
        lang=lang,
        heads=[title(column.name, lang) for column in result.table.columns],
        rows=_make_rows(result.table, folder, outcomes, lang),
        acceptance=Markup(acceptance),
        stages=[_render_stage(outcome, folder, lang) for outcome in outcomes],
    )
    return template.render_page(name, body, lang)


def _make_rows(table: Table, folder: Path, outcomes: list[Outcome], lang: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each stage, with links to what it left."""
    by_title = {f"name.{outcome.stage}": outcome.stage for outcome in outcomes}
    for stage, word, status, verdict, tier, seconds in table.rows:
        assert isinstance(stage, dict)
        name = by_title.get(stage["say"], "")
        there = [(f"{name}/{file}", words) for file, words in LINKS if name and (folder / name / file).is_file()]
        row = {"title": show(stage, lang), "ran": bool(name), "word": show(word, lang), "status": str(status)}
        yield {
            **row,
            "verdict": show(verdict, lang),
            "tier": str(tier),
            "links": there,
            "seconds": "-" if seconds is None else f"{seconds} s",
        }


def _render_stage(outcome: Outcome, folder: Path, lang: str) -> Markup:
    """Render the stage's report, or the cell that failed and its error where there is none.

    A known failure is explained; for another is said what to collect and where to ask. An error of ours names its own
    next step.
    """
    report = saved_report(folder / outcome.stage)
    error = "" if report is not None and outcome.state in ("good", "red") else outcome.error
    return template.render_template(
        "stage.html",
        lang=lang,
        heading=title(outcome.stage, lang),
        section=html.render_section(report, lang, 2) if report is not None else "",
        error=error,
        known=explain_text(error) if error else None,
        ask="" if error.startswith(WorkbookError.__name__) else hint("EXP002.unknown", lang),
    )
