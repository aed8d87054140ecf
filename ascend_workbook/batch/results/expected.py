"""Failures that the plan knows of: not red up to their date, and told when they are over or of no use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase

from ascend_workbook.batch.campaign.ended import (
    DIED,
    DIFFERS,
    EXPECTED,
    GOOD,
    LEFT_OUT,
    NOT_RUN,
    OUT_OF_MEMORY,
    RED,
    TIMED_OUT,
)
from ascend_workbook.batch.plan.model import Expected
from ascend_workbook.batch.results.rows import Row
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import LANGUAGES, Scalar, Sentence, load_catalogue, show

#: What may be expected. A run that was stopped from outside says nothing of its failure.
FAILURES = (RED, DIED, TIMED_OUT, OUT_OF_MEMORY, DIFFERS)
#: Runs that failed otherwise of which a sentence tells how; the table has all.
TOLD = 3


def apply_expectations(
    rows: Iterable[Row], expect: tuple[Expected, ...], today: date
) -> tuple[list[Row], list[Finding]]:
    """Mark the rows that failed as expected, and return them with the findings about each expectation. `today` is the
    day in UTC."""
    valid = [expectation for expectation in expect if today <= date.fromisoformat(expectation.until)]
    marked = [_mark_expected(row, valid) for row in rows]
    return marked, [
        finding
        for expectation in expect
        for finding in _report_expectation(expectation, marked, over=expectation not in valid)
    ]


def _mark_expected(row: Row, valid: list[Expected]) -> Row:
    met = next(
        (expectation for expectation in valid if _is_named(row, expectation) and _failed_as_expected(row, expectation)),
        None,
    )
    return replace(row, ended=replace(row.ended, state=EXPECTED), expected=met) if met else row


def _is_named(row: Row, expectation: Expected) -> bool:
    return fnmatchcase(row.name, expectation.run)


def _failed_as_expected(row: Row, expectation: Expected) -> bool:
    """Return whether a run failed as expected, and in no other way: each stage that is red is red so."""
    if row.state not in FAILURES:
        return False
    at = not expectation.stage or {stage.stage for stage in row.stages if stage.red} == {expectation.stage}
    return (
        at
        and expectation.state in ("", _failure_state(row))
        and (not expectation.says or _verdict_has(row, expectation.says))
    )


def _failure_state(row: Row) -> str:
    """Return how a run failed; `red` is a notebook's own verdict, not a run that could not start."""
    kinds = {stage.state for stage in row.stages if stage.red}
    return row.state if row.state != RED else kinds.pop() if len(kinds) == 1 else ""


def _verdict_has(row: Row, text: str) -> bool:
    """Return whether the error or verdict of each red stage has the text, or else the run's own."""
    pattern = re.compile(re.escape(text).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)
    own_texts = [] if row.state == RED and row.red_stage else list(_verdict_texts(row.ended.verdict))
    texts_by_stage = [
        [stage.error, *_verdict_texts(stage.verdict), *own_texts] for stage in row.stages if stage.red
    ] or [own_texts]
    return all(any(map(pattern.search, texts)) for texts in texts_by_stage)


def _verdict_texts(verdict: Scalar) -> Iterator[str]:
    return (show(verdict, lang) for lang in LANGUAGES)


def _report_expectation(expectation: Expected, rows: list[Row], *, over: bool) -> Iterator[Finding]:
    """Yield the findings about an expectation; `rows` as marked: what one met is no news for another."""
    matching_rows = [row for row in rows if _is_named(row, expectation)]
    met = [row.name for row in matching_rows if row.expected is expectation or _failed_as_expected(row, expectation)]
    args: dict[str, Scalar] = {
        "run": expectation.run,
        "until": expectation.until,
        "reason": expectation.reason,
        "what": list(_describe_bounds(expectation)),
        "runs": list(met),
        "count": len(met),
    }
    good: list[Scalar] = [row.name for row in matching_rows if row.state == GOOD]
    otherwise = [row for row in matching_rows if row.state in FAILURES and not _failed_as_expected(row, expectation)]
    if not matching_rows:
        yield Finding("RUN412", Status.WARN, "RUN412.nothing", args, weight=30)
    if met:
        key = "RUN412.expired" if over else "RUN412.expected"
        yield Finding("RUN412", Status.FAIL if over else Status.NOTE, key, args, weight=40)
    elif good and all(row.state in (GOOD, *FAILURES) for row in matching_rows):  # none that might yet meet it
        yield Finding("RUN412", Status.WARN, "RUN412.passes", {**args, "runs": good, "count": len(good)}, weight=30)
    if otherwise:
        how: list[Scalar] = [*map(_describe_failure, otherwise[:TOLD]), *(["…"] if len(otherwise) > TOLD else [])]
        more: dict[str, Scalar] = {"runs": [row.name for row in otherwise], "count": len(otherwise), "how": how}
        yield Finding("RUN412", Status.FAIL, "RUN412.elsewhere", {**args, **more}, weight=35)


def _describe_failure(row: Row) -> Scalar:
    """Describe where a run failed and what it said there, in the words of what may be expected of it."""
    stage, state = row.red_stage, _failure_state(row)
    state = (
        state if f"plan.expects.{state}" in load_catalogue() else ""
    )  # one that cannot be expected: its sentence tells
    at = [*_describe_bounds(Expected(row.name, "", "", stage.stage if stage else "", state))]
    at = at or [Sentence(f"plan.state.{row.state}")]
    verdict = row.ended.verdict if stage is None or row.state != RED else stage.verdict
    return Sentence("plan.expects.failed", run=row.name, at=at, said=verdict)


def _describe_bounds(expectation: Expected) -> Iterator[Scalar]:
    """Yield what an expectation is bound to, as a reader sees it."""
    if expectation.stage:
        yield Sentence("plan.expects.stage", stage=Sentence(f"name.{expectation.stage}"))
    if expectation.state:
        yield Sentence(f"plan.expects.{expectation.state}")
    if expectation.says:
        yield Sentence("plan.expects.says", text=expectation.says)


def has_ended(row: Row) -> bool:
    """Return whether a run has a result."""
    return row.state not in (NOT_RUN, LEFT_OUT)
