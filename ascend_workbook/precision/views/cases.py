"""A precision report as test cases: one for each question, and one for each group of operators of a comparison."""

from __future__ import annotations

from collections.abc import Iterable

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, say, show
from ascend_workbook.precision.divergence import NOT_COMPARED, PARTING
from ascend_workbook.precision.views.questions import (
    CLASSES,
    DEVICE,
    DIVERGENCE,
    DTYPE,
    EXPERIMENT,
    INCOMPLETE,
    NAN,
    OF_COMPARE,
    OF_CURVES,
    OTHER,
    UNPAIRED,
    is_unseen,
    question_of,
    questions_of,
    read_outcome,
)
from ascend_workbook.show.junit import Case

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
        " ".join(filter(None, (finding.status.name, finding.rule, finding.message(lang), finding.hint(lang))))
        for finding in ordered
    )
    if not ordered:
        return Case(classname, name, Status.OK, "", (), "")
    unseen = ordered[0].status is not Status.FAIL and any(map(is_unseen, ordered))
    status = Status.SKIPPED if unseen else ordered[0].status
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
    judgements = [read_outcome(judgement) for _, _, judgement, _, _ in rows]
    parted = [row for row, judgement_outcome in zip(rows, judgements) if judgement_outcome in PARTING]
    status, message = Status.OK, ""
    if not report.facts.get("judged", True):
        status, message = Status.SKIPPED, say("case.not_judged", lang)
    elif parted:
        status, message = Status.FAIL, say("case.parted", lang, count=len(parted), of=len(rows), first=parted[0][0])
    elif not any(row[3] is not None for row in rows) or all(
        judgement_outcome == NOT_COMPARED for judgement_outcome in judgements
    ):
        status, message = Status.SKIPPED, say("case.not_compared", lang, count=len(rows))
    lines = [_describe_row(row, lang) for row in (parted or rows)[:SHOWN]] if status is not Status.OK else []
    kind = f"precision.{PARTING[0]}" if status is Status.FAIL else ""
    where = f"{report.stage}.{report.verb}.step{step}.rank{rank}"
    return Case(where, f"{name} {direction}", status, message, tuple(lines), kind)


def _describe_row(row: tuple[Scalar, ...], lang: str) -> str:
    operator, _, judgement, error, allowed = row
    return say("case.line", lang, operator=operator, judgement=show(judgement, lang), error=error, allowed=allowed)
