"""A judgement as a comparison's table keeps it: the operator's outcome, and what is odd about one tensor beside it."""

from __future__ import annotations

from helpers.words import Scalar

_WITH_PROBLEM = "precision.with_problem"
_PREFIX = "precision."


def told(outcome: str, problem: str = "") -> Scalar:
    """The cell: an outcome of divergence.py and, where there is one, a tensor's problem of agreement.py."""
    said: Scalar = {"say": f"{_PREFIX}{outcome}"}
    if not problem:
        return said
    return {"say": _WITH_PROBLEM, "args": {"outcome": said, "problem": {"say": f"{_PREFIX}problem_{problem}"}}}


def outcome(judgement: Scalar) -> str:
    """The outcome that `told` was given, whatever the tensor's problem; empty where the cell holds none."""
    if not isinstance(judgement, dict):
        return ""
    if judgement.get("say") == _WITH_PROBLEM:
        return outcome(judgement["args"]["outcome"])
    return str(judgement.get("say", "")).removeprefix(_PREFIX)
