"""The questions that precision alignment answers, in the order in which they must be answered; `--fail-on` names them.

Each finding belongs to one question, by its rule. A question is not passed where it could not be looked at."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, parse_fail_on
from ascend_workbook.findings.sentence import Scalar, Sentence, say, show
from ascend_workbook.precision.divergence import NOT_COMPARED, PARTING
from ascend_workbook.show.junit import Case

_WITH_PROBLEM = "precision.with_problem"
_PREFIX = "precision."


def infinity_as_word(value: float | None) -> Scalar:
    """Return the number, or infinity and NaN as a word, because JSON has neither."""
    return value if value is None or math.isfinite(value) else str(value)


def keep_headline(findings: list[Finding], rule: str) -> list[Finding]:
    """Remarks (NOTE, NOT_LOOKED) lower the status of a healthy result, but the result, of `rule`, stays headline."""
    worst = max(finding.status for finding in findings)
    if worst >= Status.LOOK:
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
CLASSES = (*OF_COMPARE, SPIKE, SCALE, METRIC)
#: By the sentence's key where a rule answers more than one, else by its rule.
_BY_KEY = {"ACC215.dtype": DTYPE, "ACC215.double": DTYPE, "ACC251.nan": NAN, "ACC251.nan_gradient": NAN}
_BY_KEY["ACC235.unseen"] = INCOMPLETE
_RULES_OF = {
    EXPERIMENT: "ACC204 ACC205 ACC207 ACC227 ACC256",
    INCOMPLETE: "ACC201 ACC202 ACC203 ACC215 ACC217 ACC220 ACC251 ACC252 ACC257 ACC284",
    DIVERGENCE: "ACC218 ACC221 ACC222 ACC223 ACC224 ACC225 ACC226 ACC230 ACC235 ACC237 ACC250 ACC258",
    DEVICE: "ACC206",
    NAN: "ACC232",
    UNPAIRED: "ACC210",
    SPIKE: "ACC253",
    SCALE: "ACC254",
    METRIC: "ACC255",
}
_BY_RULE = {rule: name for name, rules in _RULES_OF.items() for rule in rules.split()}
NO_MANIFEST = "ACC205.no_manifest"
#: What leaves several questions open: no record of the runs, and no operator compared.
_OF_OPERATORS = (DIVERGENCE, NAN, UNPAIRED, DTYPE)
_SEVERAL = {
    NO_MANIFEST: (EXPERIMENT, DEVICE),
    "ACC230.other_experiment": _OF_OPERATORS,
    "ACC230.no_operators": _OF_OPERATORS,
    "ACC230.nothing": (INCOMPLETE, *_OF_OPERATORS),
    "ACC230.vacuous": (INCOMPLETE, *_OF_OPERATORS),
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
    unread = finding.rule in _CURVES_UNREAD and finding.status is Status.NOT_LOOKED
    if unread and (finding.key == _NO_CURVES or not finding.key.startswith(finding.rule)):
        return OF_CURVES
    return (question_of(finding),)


def is_unseen(finding: Finding) -> bool:
    """Return whether the finding says that something was not looked at, or not wholly."""
    return finding.status is Status.NOT_LOOKED or finding.key in _UNSEEN


def fails_question(finding: Finding, asked: str) -> bool:
    """Return whether the finding keeps the question from being passed: its answer is bad, or was not looked for."""
    if asked not in questions_of(finding):
        return False
    return is_unseen(finding) or finding.status >= Status.LOOK or (asked == UNPAIRED and finding.key == "ACC210.only")


def apply_gate(report: Report, fail_on: Iterable[str], classes: tuple[str, ...] = CLASSES) -> Report:
    """The report, Fix where one of the classes occurs or was not looked for. What is Fix by itself stays so.

    Raises WorkbookError for a class that is none of `classes`."""
    asked = parse_fail_on(fail_on, classes)
    findings = _all_findings(report)
    failed = {name: [finding for finding in findings if fails_question(finding, name)] for name in asked}
    new = []
    for name, matching in failed.items():
        if matching:
            worst = max(matching, key=lambda finding: (finding.status, finding.weight))
            args: dict[str, Scalar] = {"name": name, "kind": Sentence(f"question.{name}"), "count": len(matching)}
            args["first"] = Sentence(worst.key, **worst.args)
            new.append(Finding(CODE, Status.FIX, "ACC290.gate", args, weight=WEIGHT))
    gate_facts = {"fail_on": list(asked), "failed_on": [name for name, matching in failed.items() if matching]}
    return replace(report, findings=(*report.findings, *new), facts={**report.facts, **gate_facts})


def _all_findings(report: Report) -> list[Finding]:
    """Return the report's findings and its parts', each once."""
    own = [*report.findings, *(finding for part in report.parts for finding in _all_findings(part))]
    return list({(finding.key, repr(finding.args)): finding for finding in own}.values())


_OF_VERB = {
    "compare": OF_COMPARE,
    "curves": OF_CURVES,
    "experiment": (EXPERIMENT, DEVICE, INCOMPLETE),
    "divergence": (DIVERGENCE, NAN, DTYPE),
    "unpaired": (UNPAIRED,),
}
SHOWN = 20


def make_cases(report: Report, lang: str) -> list[Case]:
    """Make a test case of each question of a report, with its findings, then of its groups of operators. A question
    without a finding has nothing against it and passes; advice and remarks are a case only where there are some."""
    by_question: dict[str, list[Finding]] = {name: [] for name in _OF_VERB.get(report.verb, ())}
    for finding in report.findings:
        for name in [question for question in questions_of(finding) if question in by_question] or [
            question_of(finding)
        ]:
            by_question.setdefault(name, []).append(finding)
    names = sorted(by_question, key=(*CLASSES, OTHER).index)
    test_cases = [_question_case(f"{report.stage}.{report.verb}", name, by_question[name], lang) for name in names]
    return test_cases + (_group_cases(report, lang) if report.verb in ("compare", "divergence") else [])


def _question_case(classname: str, name: str, findings: Iterable[Finding], lang: str) -> Case:
    ordered = sorted(findings, key=lambda finding: (-finding.status, -finding.weight))
    details = tuple(
        " ".join(filter(None, (finding.status.json, finding.rule, finding.message(lang), finding.hint(lang))))
        for finding in ordered
    )
    if not ordered:
        return Case(classname, name, Status.GOOD, "", (), "")
    unseen = ordered[0].status is not Status.FIX and any(map(is_unseen, ordered))
    status = Status.NOT_LOOKED if unseen else ordered[0].status
    return Case(classname, name, status, ordered[0].message(lang), details, ordered[0].key)


def _group_cases(report: Report, lang: str) -> list[Case]:
    """Make one case of all calls of one API or module in one direction, on one step and rank."""
    if report.table is None:
        return []
    names = ("step", "rank", "operator", "direction", "judgement", "error_out", "allowed")
    groups: dict[tuple[Scalar, ...], list[tuple[Scalar, ...]]] = {}
    for row in zip(*(report.table.column_values(name) for name in names)):
        groups.setdefault((row[0], row[1], head_of_name(str(row[2])), row[3]), []).append(row[2:])
    return [_group_case(report, key, rows, lang) for key, rows in groups.items()]


def head_of_name(name: str) -> str:
    """Return a name without the call's number and direction: `Functional.conv2d` of `Functional.conv2d.3.forward`,
    `Module.layer1.Conv2d` of `Module.layer1.Conv2d.forward.0`."""
    pieces = name.split(".")
    keep = [
        piece
        for piece in pieces[-2:]
        if not piece.isdigit() and piece not in ("forward", "backward", "parameters_grad")
    ]
    return ".".join([*pieces[:-2], *keep])


def _group_case(report: Report, key: tuple[Scalar, ...], rows: list[tuple[Scalar, ...]], lang: str) -> Case:
    step, rank, name, direction = key
    judgements = [read_outcome(row[2]) for row in rows]
    parted = [row for row, outcome in zip(rows, judgements) if outcome in PARTING]
    status, message = Status.GOOD, ""
    if not report.facts.get("judged", True):
        status, message = Status.NOT_LOOKED, say("case.not_judged", lang)
    elif parted:
        status, message = Status.FIX, say("case.parted", lang, count=len(parted), of=len(rows), first=parted[0][0])
    elif all(row[3] is None for row in rows) or set(judgements) == {NOT_COMPARED}:
        status, message = Status.NOT_LOOKED, say("case.not_compared", lang, count=len(rows))
    lines = [
        say("case.line", lang, operator=operator, judgement=show(judgement, lang), error=error, allowed=allowed)
        for operator, _, judgement, error, allowed in (parted or rows)[: SHOWN if status is not Status.GOOD else 0]
    ]
    kind = f"precision.{PARTING[0]}" if status is Status.FIX else ""
    where = f"{report.stage}.{report.verb}.step{step}.rank{rank}"
    return Case(where, f"{name} {direction}", status, message, tuple(lines), kind)
