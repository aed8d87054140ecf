"""The command line of `modelarts`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ascend_workbook.cli.options import Row, Rows, Verb
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import say
from ascend_workbook.modelarts import JobRequest, describe_job, launch_links, rehearse_job
from ascend_workbook.storage import write_file

MOST_CARDS = 16


def run_job(
    call: partial[JobRequest],
    lang: str | None,
    *,
    env: Sequence[str] = (),
    body: Path | None = None,
    dry_run: bool = False,
    cards: int = 2,
) -> Report:
    """Describe the job, write the request where asked, and rehearse it where asked."""
    if not 1 <= cards <= MOST_CARDS:
        raise WorkbookError("modelarts.cards_range", cards=cards, most=MOST_CARDS)
    pairs = [text.partition("=") for text in env]
    wrong = next((name for name, separator, _ in pairs if not separator), None)
    if wrong is not None:
        raise WorkbookError("modelarts.env_form", text=wrong)
    request = call(environment={name: value for name, _, value in pairs})
    report = describe_job(request)
    if body:
        target = body.resolve()
        write_file(target, json.dumps(report.facts["request"], indent=2, ensure_ascii=False) + "\n")
        print(say("modelarts.body_written", lang, path=str(target)), file=sys.stderr)
    return rehearse_job(request, cards=cards) if dry_run else report


JOB: Rows = {
    "name": Row("--name", default="ascend-workbook"),
    "code": Row("--code", metavar="OBS"),
    "out": Row("--out", metavar="OBS"),
    "data": "OBS",
    "logs": "OBS",
    "flavor": Row("--flavor", metavar="ID"),
    "pool": "ID",
    "image": "SWR",
    "engine_id": "ID",
    "command": "VERB",
    "env": "NAME=VALUE",
    "body": "FILE",
    "environment": None,
}
ACTIONS = {
    "job": Verb(JobRequest, JOB, run_job, one_of=("command", "script")),
    "link": Verb(launch_links, {"urls": Row("notebook", metavar="URL", nargs="*"), "image": "ID"}),
}

VERBS = {"modelarts": Verb(actions=ACTIONS)}
