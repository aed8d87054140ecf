"""The command line of `curves`."""

from __future__ import annotations

from functools import partial

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.curves import Follow, curves
from ascend_workbook.precision.views.questions import OF_CURVES


def run(
    call: partial[Report],
    *,
    follow: bool = False,
    every: float = Follow.every_s,
    timeout: float = Follow.timeout_s,
    idle: float = Follow.idle_s,
) -> Report:
    """Compare the curves, and follow them where that was asked for."""
    return call(following=Follow(every, timeout, idle) if follow else None)


VERBS = {
    "curves": Verb(
        curves,
        {
            "target_metric": "NAME>=VALUE",
            "loss": "NAME",
            "checkpoints": "DIR",
            "following": None,
            "fail_on": Row(metavar="CLASS", choices=OF_CURVES),
        },
        run,
    )
}
