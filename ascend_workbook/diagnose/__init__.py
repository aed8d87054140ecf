"""Logs and error texts read and explained: the first error of the first failing rank, its cause, its cure, who says so.

`explain` is the verb; `explain_text` gives the cause and cure of one error text to whoever shows it. Only text is read
here: no device, no torch. Data: data/, texts: locale/known_*.toml, locale/codes_*.toml.
"""

from ascend_workbook.diagnose.explain import SYMPTOMS, Explanation, explain, explain_text, make_checklist
from ascend_workbook.findings.finding import Remarks

__all__ = ["SYMPTOMS", "Explanation", "make_checklist", "explain", "explain_text"]

#: A text in which no error is known: its next step is the answer.
REMARKS = Remarks(summaries=("EXP009",), asks=("EXP009",))
