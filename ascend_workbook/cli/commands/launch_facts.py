"""The command line of `launch-facts`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.environment import launch_facts
from ascend_workbook.findings.report import Report


def run(script: Sequence[str]) -> Report:
    """Describe the job; the line names `train.py` where no script was given."""
    return launch_facts(tuple(script)) if script else launch_facts()


EXAMPLES = """
  ascend-workbook launch-facts
  ascend-workbook launch-facts train.py --batch-size 16
  ascend-workbook launch-facts --lang zh --json launch.json train.py
"""
VERB = Verb(run=run, rows={"script": Row(nargs=argparse.REMAINDER)}, examples=EXAMPLES)
