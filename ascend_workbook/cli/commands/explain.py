"""The command line of `explain`."""

from __future__ import annotations

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.diagnose import SYMPTOMS, explain

EXAMPLES = """
  ascend-workbook explain train.log
  ascend-workbook explain rank0.log rank1.log ~/ascend/log/debug/plog
  ascend-workbook explain - --lang zh
  ascend-workbook explain 507015
  ascend-workbook explain "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB"
  ascend-workbook explain --symptom slow
"""
VERB = Verb(explain, {"symptom": Row(choices=tuple(SYMPTOMS))}, examples=EXAMPLES)
