"""The command line of `storage`."""

from __future__ import annotations

from functools import partial

from ascend_workbook.cli.options import Verb
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.storage import verb

MOST_WORKERS, MOST_MIB = 64, 5120


def run_transfer(call: partial[Report], workers: int, part_mib: int) -> Report:
    """Transfer, within bounds."""
    for option, value, most in (("--workers", workers, MOST_WORKERS), ("--part-mib", part_mib, MOST_MIB)):
        if not 1 <= value <= most:
            raise WorkbookError("storage.option", option=option, value=value, most=most)
    return call()


ROWS = {"source": "PATH", "place": "ADDRESS", "folder": "PATH", "workers": "N", "part_mib": "N"}
ACTIONS = {
    "list": Verb(verb.contents, ROWS),
    "upload": Verb(verb.upload, ROWS, run_transfer),
    "download": Verb(verb.download, ROWS, run_transfer),
    "verify": Verb(verb.verify, {"place": "PLACE"}),
}

VERBS = {"storage": Verb(actions=ACTIONS)}
