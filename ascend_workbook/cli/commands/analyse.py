"""The command line of `analyse`."""

from __future__ import annotations

from functools import partial

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import say
from ascend_workbook.profiling.answers import analyse
from ascend_workbook.profiling.export import ENDINGS


def run(
    call: partial[Report],
    timeline: str | None = None,
    perfetto: str | None = None,
    flame: str | None = None,
) -> Report:
    """Analyse, and write the files that were asked for."""
    files = {"timeline": timeline, "perfetto": perfetto, "flame": flame}
    return call(files={name: path for name, path in files.items() if path})


def last(
    report: Report,
    lang: str | None,
    timeline: str | None = None,
    perfetto: str | None = None,
    flame: str | None = None,
) -> None:
    """Print where the files are."""
    for path in filter(None, (timeline, perfetto, flame)):
        print(say("command.written", lang, path=path))


ROWS = {
    "top": Row(metavar="N"),
    "step": Row(metavar="N"),
    "baseline": Row(metavar="PROFILE"),
    "files": None,
    "steps": Row(metavar="A-B"),
    "scheduler": Row(metavar="ADDRESS"),
    **{name: Row(metavar="FILE", names=endings) for name, endings in ENDINGS.items()},
}
EXAMPLES = """
  ascend-workbook analyse runs/demo/profiling/profile
  ascend-workbook analyse result_dir/worker0_20260101120000000_ascend_pt --top 30
  ascend-workbook analyse gpu.pt.trace.json.gz --html report.html
  ascend-workbook analyse trace.json.gz --timeline timeline.html --step 51
  ascend-workbook analyse npu_ascend_pt --baseline gpu.pt.trace.json.gz --html difference.html
  ascend-workbook analyse after.pt.trace.json --baseline before.pt.trace.json
  ascend-workbook analyse rank0_ascend_pt --perfetto perfetto.json.gz --flame stacks.txt
  ascend-workbook analyse runs/demo/profiling/profile --ranks 0,3 --lang zh
  ascend-workbook analyse huge_ascend_pt --steps 120-140
  ascend-workbook analyse /share/profile --scheduler tcp://10.0.0.1:8786
"""
VERB = Verb(analyse, ROWS, run, last=last, details="--all", examples=EXAMPLES)
