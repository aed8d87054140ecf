"""The command line of `explain`."""

from __future__ import annotations

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.diagnose import SYMPTOMS, explain

VERBS = {"explain": Verb(explain, {"symptom": Row(choices=tuple(SYMPTOMS))})}
