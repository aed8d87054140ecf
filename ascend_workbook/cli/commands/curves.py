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


ROWS = {
    "target_metric": Row(metavar="NAME>=VALUE"),
    "loss": Row(metavar="NAME"),
    "checkpoints": Row(metavar="DIR"),
    "following": None,
    "fail_on": Row(metavar="CLASS", choices=OF_CURVES),
}
EXAMPLES = """
  ascend-workbook curves runs/demo/baseline runs/demo/npu
  ascend-workbook curves gpu/train.log npu/train.log --target-metric 'val_loss<=2.9' --html curves.html
  ascend-workbook curves gpu/tensorboard npu/tensorboard --tolerance 1e-4 --checkpoints npu/checkpoints
  ascend-workbook curves gpu/train.log npu/train.log --follow --timeout 3600
  ascend-workbook curves gpu/train.log npu/train.log --fail-on divergence --fail-on spike --junit curves.xml
  ascend-workbook curves a.log b.log --pattern 'at (?P<step>[0-9]+): (?P<loss>[-+.0-9einfa]+)'
"""
VERB = Verb(curves, ROWS, run, examples=EXAMPLES)
