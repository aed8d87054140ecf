"""The command line of `verify`."""

from __future__ import annotations

from functools import partial

from ascend_workbook.cli.commands.capture import SETTINGS
from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.findings.report import TIERS, Report
from ascend_workbook.precision.verify import verify


def run(call: partial[Report], *, fault: str = "", numerics: str = "") -> Report:
    """Verify, with what the simulated NPU is to do."""
    requested = {SETTINGS["fault"]: fault, SETTINGS["numerics"]: numerics}
    return call(settings={name: value for name, value in requested.items() if value})


ROWS = {
    "model_a": Row("baseline"),
    "model_b": Row("target"),
    "inputs": Row("--inputs"),
    "device_a": Row(choices=("baseline", "auto", *TIERS)),
    "device_b": Row(choices=("auto", *TIERS)),
    "mode": Row(choices=("eval", "train")),
    "required": Row(metavar="RATE"),
    "limit": Row(metavar="N"),
    "numerics": Row(choices=("cpu", "ascend")),
}
EXAMPLES = """
  ascend-workbook verify net.py:build net.py:build --inputs data.py:batches --limit 200
  ascend-workbook verify gpu.pt npu.pt --factory net.py:build --inputs inputs.pt --device-a cpu --device-b cpu
  ascend-workbook verify net.py:build net.py:build --inputs data.py:batches --only 17 --reference
"""
VERB = Verb(verify, ROWS, run, details="--all", examples=EXAMPLES)
