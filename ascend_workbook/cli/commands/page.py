"""The command line of `page`."""

from __future__ import annotations

from ascend_workbook.cli.options import Verb
from ascend_workbook.page.verb import draw_page

VERBS = {"page": Verb(draw_page, {"source": "RUN|REPORT.json", "out": "FILE"})}
