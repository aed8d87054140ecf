"""Failures that the plan knows of: not red up to their date, and told when they are over or of no use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase

from helpers.batch.campaign.ended import DIED, DIFFERS, EXPECTED, GOOD, LEFT_OUT, NOT_RUN, OUT_OF_MEMORY, RED, TIMED_OUT
from helpers.batch.plan.model import Expected
from helpers.batch.results.rows import Row
from helpers.finding import Finding, Status
from helpers.words import LANGUAGES, Scalar, catalogue, show

#: What may be expected. A run that was stopped from outside says nothing of its failure.
FAILURES = (RED, DIED, TIMED_OUT, OUT_OF_MEMORY, DIFFERS)
#: Runs that failed otherwise of which a sentence tells how; the table has all.
TOLD = 3


def apply(rows: Iterable[Row], expect: tuple[Expected, ...], today: date) -> tuple[list[Row], list[Finding]]:
    """The rows, those that failed as expected so marked, and what there is to say of each expectation. `today` is the
    day in UTC."""
    valid = [wanted for wanted in expect if today <= date.fromisoformat(wanted.until)]
    marked = [_marked(row, valid) for row in rows]
    return marked, [found for wanted in expect for found in _said(wanted, marked, over=wanted not in valid)]


def _marked(row: Row, valid: list[Expected]) -> Row:
    met = next((wanted for wanted in valid if _named(row, wanted) and _so(row, wanted)), None)
    return replace(row, ended=replace(row.ended, state=EXPECTED), expected=met) if met else row


def _named(row: Row, wanted: Expected) -> bool:
    return fnmatchcase(row.name, wanted.run)


def _so(row: Row, wanted: Expected) -> bool:
    """Whether it failed as expected, and in no other way: each stage that is red is red so."""
    if row.state not in FAILURES:
        return False
    at = not wanted.stage or {stage.stage for stage in row.stages if stage.red} == {wanted.stage}
    return at and wanted.state in ("", _state(row)) and (not wanted.says or _says(row, wanted.says))


def _state(row: Row) -> str:
    """How it failed; `red` is a notebook's own verdict, not a run that could not start or was on a lower tier."""
    kinds = {stage.state for stage in row.stages if stage.red}
    return row.state if row.state != RED else kinds.pop() if len(kinds) == 1 else ""


def _says(row: Row, wanted: str) -> bool:
    """Whether the error or verdict of each red stage has the text, or the run's own where that is not theirs."""
    pattern = re.compile(re.escape(wanted).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)
    own = [] if row.state == RED and row.red_stage else list(_shown(row.ended.verdict))
    told = [[stage.error, *_shown(stage.verdict), *own] for stage in row.stages if stage.red] or [own]
    return all(any(map(pattern.search, texts)) for texts in told)


def _shown(verdict: Scalar) -> Iterator[str]:
    return (show(verdict, lang) for lang in LANGUAGES)


def _said(wanted: Expected, rows: list[Row], *, over: bool) -> Iterator[Finding]:
    """`rows` as they are marked: what one expectation meets is no news for another."""
    named = [row for row in rows if _named(row, wanted)]
    met = [row.name for row in named if row.expected is wanted or _so(row, wanted)]
    args: dict[str, Scalar] = {"run": wanted.run, "until": wanted.until, "reason": wanted.reason,
                               "what": list(_bounds(wanted)), "runs": list(met), "count": len(met)}  # fmt: skip
    good: list[Scalar] = [row.name for row in named if row.state == GOOD]
    otherwise = [row for row in named if row.state in FAILURES and not _so(row, wanted)]
    if not named:
        yield Finding("RUN412", Status.WARN, "RUN412.nothing", args, weight=30)
    if met:
        key = "RUN412.expired" if over else "RUN412.expected"
        yield Finding("RUN412", Status.FAIL if over else Status.NOTE, key, args, weight=40)
    elif good and all(row.state in (GOOD, *FAILURES) for row in named):  # none that might yet meet it
        yield Finding("RUN412", Status.WARN, "RUN412.passes", {**args, "runs": good, "count": len(good)}, weight=30)
    if otherwise:
        how: list[Scalar] = [*map(_how, otherwise[:TOLD]), *(["…"] if len(otherwise) > TOLD else [])]
        more: dict[str, Scalar] = {"runs": [row.name for row in otherwise], "count": len(otherwise), "how": how}
        yield Finding("RUN412", Status.FAIL, "RUN412.elsewhere", {**args, **more}, weight=35)


def _how(row: Row) -> Scalar:
    """Where a run failed and what it said there, in the words of what may be expected of it."""
    stage, state = row.red_stage, _state(row)
    state = state if f"plan.expects.{state}" in catalogue() else ""  # one that cannot be expected: its sentence tells
    at = [*_bounds(Expected(row.name, "", "", stage.stage if stage else "", state))]
    at = at or [{"say": f"plan.state.{row.state}"}]
    said = row.ended.verdict if stage is None or row.state != RED else stage.verdict
    return {"say": "plan.expects.failed", "args": {"run": row.name, "at": at, "said": said}}


def _bounds(wanted: Expected) -> Iterator[Scalar]:
    """What it is bound to, as a reader sees it."""
    if wanted.stage:
        yield {"say": "plan.expects.stage", "args": {"stage": {"say": f"name.{wanted.stage}"}}}
    if wanted.state:
        yield {"say": f"plan.expects.{wanted.state}"}
    if wanted.says:
        yield {"say": "plan.expects.says", "args": {"text": wanted.says}}


def ended(row: Row) -> bool:
    """Whether it has a result."""
    return row.state not in (NOT_RUN, LEFT_OUT)
