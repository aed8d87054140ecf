"""The command line of `timeline`."""

from __future__ import annotations

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.profiling.timeline.verb import show_timeline

VERBS = {
    "timeline": Verb(
        show_timeline,
        {
            "path": "PROFILE",
            "baseline": "PROFILE",
            "out": "FILE",
            "serve_page": Row("--serve"),
            "steps": "A-B",
            "port": "N",
            "idle_s": "SECONDS",
        },
    )
}
