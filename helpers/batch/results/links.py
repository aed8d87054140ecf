"""Links from a plan's page to the pages, notebooks and logs of its runs."""

from __future__ import annotations

from html import escape
from pathlib import Path
from urllib.parse import quote

from helpers.batch.campaign.ended import DIFFERS
from helpers.batch.results.rows import Row, StageRow
from helpers.words import say, title


def address(*parts: str) -> str:
    """A relative link; whatever a name holds, it stays below the page's folder."""
    return escape("/".join(quote(part, safe="") for part in parts))


def run_link(row: Row) -> str:
    """To the run's own page."""
    return f'<a href="{address(row.name, "index.html")}">{escape(row.name)}</a>'


def stage_link(row: Row, stage: StageRow, file: str, words: str, lang: str) -> str:
    """To a file of one stage."""
    return f'<a href="{address(row.name, stage.stage, file)}">{escape(say(words, lang))}</a>'


def where_to_look(row: Row, folder: Path, lang: str) -> str:
    """The run, the stage that failed with its report and notebook, and the log: those that are there."""
    stage = row.red_stage
    found = [run_link(row)]
    if stage is not None:
        found.append(escape(title(stage.stage, lang)))
        files = (("report.html", "run.link.report"), ("notebook.ipynb", "run.link.notebook"))
        found += [stage_link(row, stage, *each, lang) for each in files
                  if (folder / row.name / stage.stage / each[0]).is_file()]  # fmt: skip
    if row.state == DIFFERS and (folder / row.name / "reference.html").is_file():
        found.append(f'<a href="{address(row.name, "reference.html")}">{escape(say("plan.link.reference", lang))}</a>')
    if (folder / row.name / "log.txt").is_file():
        found.append(f'<a href="{address(row.name, "log.txt")}">{escape(say("plan.link.log", lang))}</a>')
    return " · ".join(found)
