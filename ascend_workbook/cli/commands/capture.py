"""The command line of `capture`."""

from __future__ import annotations

import inspect
from functools import partial

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.bisect import bisect as capture_both
from ascend_workbook.precision.capture import capture
from ascend_workbook.precision.capturing.options import DATA_MODES, LEVELS, TASKS

SETTINGS = {"fault": "ASCEND_WORKBOOK_SIM_FAULT", "numerics": "ASCEND_WORKBOOK_SIM_NUMERICS"}


def run(call: partial[Report], bisect: bool = False, fault: str = "", numerics: str = "") -> Report:
    """Capture one side; both sides where the first operator that parts is sought."""
    requested = {SETTINGS["fault"]: fault, SETTINGS["numerics"]: numerics}
    settings = {name: value for name, value in requested.items() if value}
    if not bisect:
        return call(settings=settings)
    accepted = inspect.signature(capture_both).parameters
    options = {name: value for name, value in call.keywords.items() if name in accepted}
    return capture_both(**{**options, "settings": settings})


ROWS = {
    "level": Row(choices=LEVELS),
    "task": Row(choices=TASKS),
    "scope": Row(metavar="NAME", nargs=2),
    "names": Row("--list", metavar="PART", dest="names"),
    "data_mode": Row(metavar="MODE", choices=DATA_MODES),
    "numerics": Row(choices=("cpu", "ascend")),
}
EXAMPLES = """
  ascend-workbook capture --device baseline --out runs/demo/baseline train.py --batch-size 16
  ascend-workbook capture --device npu --out runs/demo/npu train.py --batch-size 16
  ascend-workbook capture --task statistics --steps 5 --dump-steps 0,4 --out runs/demo/statistics train.py
  ascend-workbook capture --list conv2d --data-mode forward --out runs/demo/conv train.py
  ascend-workbook capture --bisect --device npu --out runs/demo/bisect train.py
  ascend-workbook capture --device npu-simulated --fault "aten::convolution@3:scale=1.01" --out runs/sick train.py
"""
VERB = Verb(capture, ROWS, run, examples=EXAMPLES)
