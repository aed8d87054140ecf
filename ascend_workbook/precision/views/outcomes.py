"""A judgement as a comparison's table keeps it: the operator's outcome, and what is odd about one tensor beside it."""

from __future__ import annotations

from ascend_workbook.findings.sentence import Scalar, Sentence

_WITH_PROBLEM = "precision.with_problem"
_PREFIX = "precision."


def judgement_cell(outcome: str, problem: str = "") -> Scalar:
    """The cell: an outcome of divergence.py and, where there is one, a tensor's problem of agreement.py."""
    sentence: Scalar = Sentence(f"{_PREFIX}{outcome}")
    if not problem:
        return sentence
    return Sentence(_WITH_PROBLEM, outcome=sentence, problem=Sentence(f"{_PREFIX}problem_{problem}"))


def read_outcome(judgement: Scalar) -> str:
    """Read the outcome out of a cell that outcome_cell made, whatever the tensor's problem; empty where the cell holds
    none.
    """
    if not isinstance(judgement, dict):
        return ""
    if judgement.get("say") == _WITH_PROBLEM:
        return read_outcome(judgement["args"]["outcome"])
    return str(judgement.get("say", "")).removeprefix(_PREFIX)
