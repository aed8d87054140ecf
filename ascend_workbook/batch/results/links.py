"""Links from a plan's page to the pages, notebooks and logs of its runs."""

from __future__ import annotations

from urllib.parse import quote

from ascend_workbook.batch.campaign.ended import DIFFERS
from ascend_workbook.batch.results.rows import Row


def link_to(row: Row, file: str) -> str:
    """Return a relative link to a file of the run; what its name holds is no part of the link's own form."""
    return "/".join(quote(part, safe="") for part in f"{row.place}/{file}".split("/"))


def files_to_look_at(row: Row) -> list[tuple[str, str]]:
    """Return the files that tell why a run is red, with the words of their links: those that are there."""
    stage = f"{row.red_stage.stage}/" if row.red_stage else ""
    files = (
        [(f"{stage}report.html", "run.link.report"), (f"{stage}notebook.ipynb", "run.link.notebook")] if stage else []
    )
    files += [("reference.html", "plan.link.reference")] if row.state == DIFFERS else []
    return [(file, words) for file, words in (*files, ("log.txt", "plan.link.log")) if file in row.files]
