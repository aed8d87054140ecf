"""Links from a plan's page to the pages, notebooks and logs of its runs."""

from __future__ import annotations

from html import escape
from urllib.parse import quote

from helpers.batch.campaign.ended import DIFFERS
from helpers.batch.results.rows import Row, StageRow
from helpers.words import say, title


def address(row: Row, file: str) -> str:
    """A relative link to a file of the run; what its name holds is no part of the link's own form."""
    return escape("/".join(quote(part, safe="") for part in f"{row.place}/{file}".split("/")))


def run_link(row: Row) -> str:
    """To the run's own page, where there is one and a way to it."""
    return f'<a href="{address(row, "index.html")}">{escape(row.name)}</a>' if row.page else escape(row.name)


def stage_link(row: Row, stage: StageRow, file: str, words: str, lang: str) -> str:
    """To a file of one stage."""
    return file_link(row, f"{stage.stage}/{file}", words, lang)


def file_link(row: Row, file: str, words: str, lang: str) -> str:
    """To a file of the run."""
    return f'<a href="{address(row, file)}">{escape(say(words, lang))}</a>'


def where_to_look(row: Row, lang: str) -> str:
    """The run, the stage that failed with its report and notebook, and the log: those that are there."""
    stage = row.red_stage
    found = [run_link(row)]
    if stage is not None:
        found.append(escape(title(stage.stage, lang)))
        files = (("report.html", "run.link.report"), ("notebook.ipynb", "run.link.notebook"))
        found += [stage_link(row, stage, *each, lang) for each in files if f"{stage.stage}/{each[0]}" in row.files]
    for file, words in (("reference.html", "plan.link.reference"), ("log.txt", "plan.link.log")):
        if file in row.files and (file == "log.txt" or row.state == DIFFERS):
            found.append(file_link(row, file, words, lang))
    return " · ".join(found)
