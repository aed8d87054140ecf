"""The command line of `compare`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.report import TIERS, Report
from ascend_workbook.precision.compare import around as rows_around
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.views.factors import tolerances as by_tolerance
from ascend_workbook.precision.views.layers import layers as by_layer
from ascend_workbook.precision.views.questions import OF_COMPARE


def run(call: partial[Report], *, around: int = 0, replay_on: Sequence[str] | None = None) -> Report:
    """Compare, and keep the rows around the first divergence where that was asked for."""
    tiers = [tier for tier in replay_on if tier != "none"] if replay_on else None
    report = call(replay_on=tiers)
    return rows_around(report, around) if around else report


def show(report: Report, lang: str | None, *, layers: bool = False, tolerances: bool = False) -> bool:
    """Print the views that were asked for, in place of the whole table; the files that are written keep it."""
    for is_asked, view in ((layers, by_layer), (tolerances, by_tolerance)):
        if is_asked:
            print(view(report).text(lang))
    return layers or tolerances


def last(report: Report, lang: str | None, *, attempts: str | None = None) -> None:
    """Print whether the last change helped, where attempts are kept: good news is no remark and stands alone."""
    for finding in report.findings if attempts else ():
        if finding.rule == "ACC285":
            print(finding.message(lang))


ROWS = {
    "replaying": Row("--no-replay"),
    "replay_on": Row(metavar="TIER", nargs="+", choices=(*TIERS, "none")),
    "only": Row(metavar="NAME", nargs="+"),
    "sample": Row(metavar="SHARE"),
    "csv": Row(metavar="FILE"),
    "scheduler": Row(metavar="ADDRESS"),
    "around": Row(metavar="N"),
    "attempts": Row(metavar="RUN"),
    "fail_on": Row(metavar="CLASS", choices=OF_COMPARE),
    "progress": None,
}
EXAMPLES = """
  ascend-workbook compare runs/demo/baseline runs/demo/npu
  ascend-workbook compare runs/demo/baseline runs/demo/npu --html precision.html --json precision.json
  ascend-workbook compare gpu_dump npu_dump --layers
  ascend-workbook compare gpu_dump npu_dump --tolerances
  ascend-workbook compare gpu.zip runs/demo/npu --attempts runs/demo
  ascend-workbook compare gpu_dump npu_dump --replay-on cpu npu
  ascend-workbook compare gpu_dump npu_dump --no-replay --csv numbers.csv
  ascend-workbook compare runs/fp32 runs/bf16 --anyway
  ascend-workbook compare gpu_dump npu_dump --only layer1 "*softmax*" --sample 0.1
  ascend-workbook compare /share/gpu_dump /share/npu_dump --scheduler tcp://10.0.0.1:8786
  ascend-workbook compare gpu_dump npu_dump --fail-on divergence --fail-on incomplete --junit precision.xml
"""
VERB = Verb(compare, ROWS, run, show, last, details="--all", examples=EXAMPLES)
