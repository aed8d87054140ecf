"""The questions that precision alignment answers, in the order in which they must be answered; `--fail-on` names them.

Each finding belongs to one question, by its rule. A question is not passed where it could not be looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from ascend_workbook.findings import report as gates
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence

# A judgement as a comparison's table keeps it: the operator's outcome, and what is odd about one tensor beside it.

_WITH_PROBLEM = "precision.with_problem"
_PREFIX = "precision."


def infinity_as_word(value: float | None) -> Scalar:
    """Return the number, or infinity and NaN as a word, because JSON has neither."""
    return value if value is None or math.isfinite(value) else str(value)


def keep_headline(findings: list[Finding], rule: str) -> list[Finding]:
    """Remarks (NOTE, SKIPPED) lower the status of a healthy result, but the result, of `rule`, stays the headline."""
    worst = max(finding.status for finding in findings)
    if worst >= Status.WARN:
        return findings
    return [replace(finding, status=worst) if finding.rule == rule else finding for finding in findings]


def judgement_cell(outcome: str, problem: str = "") -> Scalar:
    """The cell: an outcome of divergence.py and, where there is one, a tensor's problem of agreement.py."""
    sentence: Scalar = Sentence(f"{_PREFIX}{outcome}")
    if not problem:
        return sentence
    return Sentence(_WITH_PROBLEM, outcome=sentence, problem=Sentence(f"{_PREFIX}problem_{problem}"))


def read_outcome(judgement: Scalar) -> str:
    """Read the outcome out of a cell of judgement_cell, whatever the tensor's problem; empty where it holds none."""
    if not isinstance(judgement, dict):
        return ""
    if judgement.get("say") == _WITH_PROBLEM:
        return read_outcome(judgement["args"]["outcome"])
    return str(judgement.get("say", "")).removeprefix(_PREFIX)


# ruff: noqa: SIM905 - a column of names reads better without quotes
EXPERIMENT, DEVICE, INCOMPLETE, DIVERGENCE, NAN, UNPAIRED, DTYPE, SPIKE, SCALE, METRIC, OTHER = """
experiment device incomplete divergence nan unpaired dtype spike scale metric other
""".split()
#: What a comparison by tensor answers, what curves answer, and both together.
OF_COMPARE = (EXPERIMENT, DEVICE, INCOMPLETE, DIVERGENCE, NAN, UNPAIRED, DTYPE)
OF_CURVES = (EXPERIMENT, INCOMPLETE, DIVERGENCE, NAN, SPIKE, SCALE, METRIC)
CLASSES = (EXPERIMENT, DEVICE, INCOMPLETE, DIVERGENCE, NAN, UNPAIRED, DTYPE, SPIKE, SCALE, METRIC)
#: By the sentence's key where a rule answers more than one, else by its rule.
_BY_KEY = {
    "ACC215.dtype": DTYPE,
    "ACC215.double": DTYPE,
    "ACC251.nan": NAN,
    "ACC251.nan_gradient": NAN,
    "ACC235.unseen": INCOMPLETE,
}
_BY_RULE = {
    "ACC201": INCOMPLETE,
    "ACC202": INCOMPLETE,
    "ACC203": INCOMPLETE,
    "ACC204": EXPERIMENT,
    "ACC205": EXPERIMENT,
    "ACC206": DEVICE,
    "ACC207": EXPERIMENT,
    "ACC210": UNPAIRED,
    "ACC215": INCOMPLETE,
    "ACC217": INCOMPLETE,
    "ACC218": DIVERGENCE,
    "ACC230": DIVERGENCE,
    "ACC232": NAN,
    "ACC235": DIVERGENCE,
    "ACC250": DIVERGENCE,
    "ACC251": INCOMPLETE,
    "ACC252": INCOMPLETE,
    "ACC253": SPIKE,
    "ACC254": SCALE,
    "ACC255": METRIC,
    "ACC256": EXPERIMENT,
    "ACC257": INCOMPLETE,
    "ACC258": DIVERGENCE,
    "ACC284": INCOMPLETE,
}
NO_MANIFEST = "ACC205.no_manifest"
#: What leaves several questions open: no record of the runs, and no operator compared.
_OF_OPERATORS = (DIVERGENCE, NAN, UNPAIRED, DTYPE)
_SEVERAL = {
    NO_MANIFEST: (EXPERIMENT, DEVICE),
    "ACC230.other_experiment": _OF_OPERATORS,
    "ACC230.no_operators": _OF_OPERATORS,
    "ACC230.nothing": (INCOMPLETE, *_OF_OPERATORS),
}
#: Rules that say, in the words of the error, that curves could not be read; their own words speak of curves or tensors.
_CURVES_UNREAD = ("ACC250", "ACC284")
_NO_CURVES = "ACC284.no_curves"
#: Remarks that say: this was not looked at, or not wholly.
_UNSEEN = (NO_MANIFEST, "ACC205.not_looked", "ACC201.gap", "ACC235.unseen", "ACC217.sampled", "ACC217.selected")
#: Of a finding that --fail-on makes.
CODE = "ACC290"
#: Below the finding that it speaks of, which stays the headline where it fails by itself.
WEIGHT = 1.0


def question_of(finding: Finding) -> str:
    """Return the question that the finding answers; `other` for advice and remarks."""
    if finding.rule == CODE:
        return str(finding.args["name"])
    return _BY_KEY.get(finding.key) or _BY_RULE.get(finding.rule, OTHER)


def questions_of(finding: Finding) -> tuple[str, ...]:
    """Return all questions that the finding speaks of: several where what they ask about was not there."""
    if finding.key in _SEVERAL:
        return _SEVERAL[finding.key]
    return OF_CURVES if _no_curves(finding) else (question_of(finding),)


def _no_curves(finding: Finding) -> bool:
    """Return whether the finding says that the curves were not read at all."""
    if finding.rule not in _CURVES_UNREAD or finding.status is not Status.SKIPPED:
        return False
    return finding.key == _NO_CURVES or not finding.key.startswith(finding.rule)


def is_unseen(finding: Finding) -> bool:
    """Return whether the finding says that something was not looked at, or not wholly."""
    return finding.status is Status.SKIPPED or finding.key in _UNSEEN


def fails_question(finding: Finding, asked: str) -> bool:
    """Return whether the finding keeps the question from being passed: its answer is bad, or was not looked for."""
    if asked not in questions_of(finding):
        return False
    return is_unseen(finding) or finding.status >= Status.WARN or (asked == UNPAIRED and finding.key == "ACC210.only")


def apply_gate(report: Report, fail_on: Iterable[str], classes: tuple[str, ...] = CLASSES) -> Report:
    """The report, FAIL where one of the classes occurs or was not looked for. What is FAIL by itself stays so.

    Raises WorkbookError for a class that is none of `classes`.
    """
    asked = gates.parse_fail_on(fail_on, classes)
    findings = _all_findings(report)
    failed = {name: [finding for finding in findings if fails_question(finding, name)] for name in asked}
    new = [_make_gate(name, matching) for name, matching in failed.items() if matching]
    gate_facts = {"fail_on": list(asked), "failed_on": [name for name, matching in failed.items() if matching]}
    return replace(report, findings=(*report.findings, *new), facts={**report.facts, **gate_facts})


def _all_findings(report: Report) -> list[Finding]:
    """Return the report's findings and its parts', each once."""
    own = [*report.findings, *(finding for part in report.parts for finding in _all_findings(part))]
    return list({(finding.key, repr(finding.args)): finding for finding in own}.values())


def _make_gate(name: str, findings: list[Finding]) -> Finding:
    worst = max(findings, key=lambda finding: (finding.status, finding.weight))
    first: Scalar = Sentence(worst.key, **worst.args)
    args: dict[str, Scalar] = {
        "name": name,
        "kind": Sentence(f"question.{name}"),
        "count": len(findings),
        "first": first,
    }
    return Finding(CODE, Status.FAIL, "ACC290.gate", args, weight=WEIGHT)
