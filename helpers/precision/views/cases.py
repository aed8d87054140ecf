"""A precision report as test cases: one for each question, and one for each group of operators of a comparison."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from helpers.finding import Finding, Status
from helpers.precision.divergence import NOT_COMPARED, PARTING
from helpers.precision.views.outcomes import outcome
from helpers.precision.views.questions import (
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
    question_of,
    questions_of,
    unseen,
)
from helpers.report import Report
from helpers.words import Scalar, say, show

_OF_VERB = {"compare": OF_COMPARE, "curves": OF_CURVES, "experiment": (EXPERIMENT, DEVICE, INCOMPLETE),
            "divergence": (DIVERGENCE, NAN, DTYPE), "unpaired": (UNPAIRED,)}  # fmt: skip
SHOWN = 20


@dataclass(frozen=True)
class Case:
    """`classname` and `name` are the same in each run, so that a CI server can follow a case; `kind` is a code."""

    classname: str
    name: str
    status: Status
    message: str
    details: tuple[str, ...] = ()
    kind: str = ""


def cases(report: Report, lang: str) -> list[Case]:
    """The questions of a report, each with its findings, then its groups of operators. A question without a finding
    has nothing against it and passes; advice and remarks are a case only where there are some."""
    found: dict[str, list[Finding]] = {name: [] for name in _OF_VERB.get(report.verb, ())}
    for finding in report.findings:
        for name in [one for one in questions_of(finding) if one in found] or [question_of(finding)]:
            found.setdefault(name, []).append(finding)
    names = sorted(found, key=(*CLASSES, OTHER).index)
    made = [_case(f"{report.stage}.{report.verb}", name, found[name], lang) for name in names]
    return made + (_groups(report, lang) if report.verb in ("compare", "divergence") else [])


def _case(classname: str, name: str, findings: Iterable[Finding], lang: str) -> Case:
    ordered = sorted(findings, key=lambda one: (-one.status, -one.weight))
    details = tuple(" ".join(filter(None, (one.status.name, one.rule, one.message(lang), one.hint(lang))))
                    for one in ordered)  # fmt: skip
    status = ordered[0].status if ordered else Status.OK
    if status is not Status.FAIL and any(map(unseen, ordered)):
        status = Status.SKIPPED
    return Case(classname, name, status, ordered[0].message(lang) if ordered else "", details,
                ordered[0].key if ordered else "")  # fmt: skip


def _groups(report: Report, lang: str) -> list[Case]:
    """All calls of one API or module in one direction, on one step and rank, are one case."""
    if report.table is None:
        return []
    names = ("step", "rank", "operator", "direction", "judgement", "error_out", "allowed")
    groups: dict[tuple[Scalar, ...], list[tuple[Scalar, ...]]] = {}
    for row in zip(*(report.table.values(name) for name in names)):
        groups.setdefault((row[0], row[1], head(str(row[2])), row[3]), []).append(row[2:])
    return [_group(report, key, rows, lang) for key, rows in groups.items()]


def head(name: str) -> str:
    """`Functional.conv2d` of `Functional.conv2d.3.forward`, `Module.layer1.Conv2d` of `Module.layer1.Conv2d.forward.0`:
    a call's number and direction left out."""
    pieces = name.split(".")
    keep = [piece for piece in pieces[-2:] if not piece.isdigit() and piece not in ("forward", "backward",
                                                                                    "parameters_grad")]  # fmt: skip
    return ".".join([*pieces[:-2], *keep])


def _group(report: Report, key: tuple[Scalar, ...], rows: list[tuple[Scalar, ...]], lang: str) -> Case:
    step, rank, name, direction = key
    said = [outcome(judgement) for _, _, judgement, _, _ in rows]
    parted = [row for row, one in zip(rows, said) if one in PARTING]
    status, told = Status.OK, ""
    if not report.facts.get("judged", True):
        status, told = Status.SKIPPED, say("case.not_judged", lang)
    elif parted:
        status, told = Status.FAIL, say("case.parted", lang, count=len(parted), of=len(rows), first=parted[0][0])
    elif not any(row[3] is not None for row in rows) or all(one == NOT_COMPARED for one in said):
        status, told = Status.SKIPPED, say("case.not_compared", lang, count=len(rows))
    lines = [_line(row, lang) for row in (parted or rows)[:SHOWN]] if status is not Status.OK else []
    kind = f"precision.{PARTING[0]}" if status is Status.FAIL else ""
    where = f"{report.stage}.{report.verb}.step{step}.rank{rank}"
    return Case(where, f"{name} {direction}", status, told, tuple(lines), kind)


def _line(row: tuple[Scalar, ...], lang: str) -> str:
    operator, _, judgement, error, allowed = row
    return say("case.line", lang, operator=operator, judgement=show(judgement, lang), error=error, allowed=allowed)
