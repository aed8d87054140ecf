"""The command line of `selftest`."""

from __future__ import annotations

from functools import partial

from ascend_workbook.cli.options import Row, Verb, progress_line
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import TIERS, Report
from ascend_workbook.findings.sentence import say
from ascend_workbook.selftest import PARTS, run_part, selftest


def run(call: partial[Report], lang: str | None, device: str, *, part: str | None = None) -> Report:
    """Run all parts, or one of them in this process."""
    timeout = call.keywords["timeout_s"]
    if timeout is not None and timeout <= 0:
        raise WorkbookError("selftest.timeout", seconds=f"{timeout:g}")
    for option, keyword in (("--only", "parts"), ("--log", "logs")):
        if part and keyword in call.keywords:
            raise WorkbookError("command.excludes", option="--part", other=option, verb="selftest")

    def tell_part(name: str) -> None:
        progress_line(say("selftest.running", lang, part=say(f"selftest.part.{name}", lang)))

    return run_part(part, device, timeout) if part else call(on_part=tell_part)


VERBS = {
    "selftest": Verb(
        selftest,
        {
            "device": Row(choices=("auto", *TIERS)),
            "out": "DIR",
            "parts": Row("--only", choices=tuple(PARTS), default=None),
            "part": Row(choices=tuple(PARTS)),
            "logs": Row("--log", metavar="PATH", default=None),
            "timeout_s": Row("--timeout", metavar="S"),
            "command": None,
            "on_part": None,
        },
        run,
    )
}
