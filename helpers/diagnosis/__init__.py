"""Logs and error texts read and explained: the first error of the first failing rank, its cause, its cure, who says so.

`explain` is the verb; `explanation` gives the cause and cure of one error text to whoever shows it. Only text is read
here: no device, no torch. Data: data/, words: words/known_*.py, words/codes_*.py.
"""

from helpers.diagnosis.explain import Explanation, explain, explanation
from helpers.diagnosis.symptoms import SYMPTOMS, checklist

__all__ = ["SYMPTOMS", "Explanation", "checklist", "explain", "explanation"]
