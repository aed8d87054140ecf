"""Logs and error texts read and explained: the first error of the first failing rank, its cause, its cure, who says so.

`explain` is the verb; `explain_text` gives the cause and cure of one error text to whoever shows it. Only text is read
here: no device, no torch. Data: data/, texts: locale/known_*.toml, locale/codes_*.toml.
"""

from ascend_workbook.diagnose.explain import Explanation, explain, explain_text
from ascend_workbook.diagnose.symptoms import SYMPTOMS, make_checklist

__all__ = ["SYMPTOMS", "Explanation", "make_checklist", "explain", "explain_text"]
