"""The command line of `selftest`."""

from __future__ import annotations

from functools import partial

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.cli.progress import progress_line
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


ROWS = {
    "device": Row(choices=("auto", *TIERS)),
    "out": Row(metavar="DIR"),
    "parts": Row("--only", choices=tuple(PARTS), default=None),
    "part": Row(choices=tuple(PARTS)),
    "logs": Row("--log", metavar="PATH", default=None),
    "timeout_s": Row("--timeout", metavar="S"),
    "command": None,
    "on_part": None,
}
EXAMPLES = """
  ascend-workbook selftest --device npu
  ascend-workbook selftest --device npu-simulated --out bundles
  ascend-workbook selftest --log train.log --log ~/ascend/log
  ascend-workbook selftest --part hccl
  ascend-workbook selftest --only operators --only profiler --timeout 600
"""
VERB = Verb(selftest, ROWS, run, examples=EXAMPLES)
