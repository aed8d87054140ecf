"""A run of a plan as its results show it: how it ended, its stages, and why it is red.

The cause is a key that is equal for runs with one cause: a known error, a verdict, or an error's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain
from pathlib import Path

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
    Ended,
)
from ascend_workbook.batch.causes import LONGEST, strip_passing
from ascend_workbook.batch.execute import NOT_LOOKED, STOPPED, load_outcome
from ascend_workbook.batch.plan.model import Expected, Item, Plan
from ascend_workbook.diagnose import explain_text
from ascend_workbook.findings import report as reports
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, Table
from ascend_workbook.findings.sentence import LANGUAGES, Scalar, Sentence, load_catalogue, show

NEWLY_RED, STILL_RED, FIXED, SLOWER, LOWER_TIER, NEW = "newly_red", "still_red", "fixed", "slower", "lower_tier", "new"


@dataclass(frozen=True)
class StageRow:
    """One notebook of a run; `state` as in execute.Outcome, or not_run. `seconds` is None where it did not end."""

    stage: str
    state: str
    status: str
    verdict: Scalar
    tier: str = ""
    seconds: float | None = None
    reused: bool = False
    error: str = ""

    @property
    def red(self) -> bool:
        """Return whether this stage makes the run red."""
        return self.status == Status.FIX.json


@dataclass(frozen=True)
class Row:
    """One run. `cause` is equal for reds that have one cause; `change` is a word of this module or empty; `before_s`
    is how long an earlier time took; `number` counts the plan's runs from 1. `place` is its folder, from that of the
    page ("": it cannot be linked to), and `files` those to link to that are in it."""

    number: int
    ended: Ended
    stages: tuple[StageRow, ...]
    tags: tuple[str, ...] = ()
    parameters: Mapping[str, str] | None = None
    cause: str = ""
    change: str = ""
    before_s: float | None = None
    expected: Expected | None = None
    place: str = ""
    files: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self.ended.name

    @property
    def state(self) -> str:
        return self.ended.state

    @property
    def red(self) -> bool:
        return self.ended.red

    @property
    def good(self) -> bool:
        """Return whether the run ended well and looked at all that it was asked."""
        return self.state == GOOD and self.status != Status.NOT_LOOKED.json

    @property
    def word(self) -> str:
        """Return the key of the word for how it ended."""
        return NOT_LOOKED if self.state == GOOD and not self.good else f"plan.state.{self.state}"

    @property
    def page(self) -> str:
        """Return the run's page, from the folder of the plan's; empty where there is none."""
        return f"{self.place}/index.html" if self.place and "index.html" in self.files else ""

    @property
    def status(self) -> str:
        """Return Fix where the run is red; never Good for what did not run or failed as expected."""
        if self.red:
            return Status.FIX.json
        others = {NOT_RUN: Status.NOT_LOOKED, LEFT_OUT: Status.NOT_LOOKED, EXPECTED: Status.LOOK}
        return others[self.state].json if self.state in others else self.ended.status

    @property
    def red_stage(self) -> StageRow | None:
        """The first stage that failed."""
        return next((stage for stage in self.stages if stage.red), None)


def make_rows(plan: Plan, ended: Mapping[str, Ended], folder: Path) -> list[Row]:
    """Make the rows of the runs in the plan's order, then of those that were left out."""
    rows = [_make_row(number, item, ended.get(item.name), folder) for number, item in enumerate(plan.items, 1)]
    for number, left in enumerate(plan.left_out, len(rows) + 1):
        rows.append(Row(number, Ended(left.name, LEFT_OUT, Status.NOT_LOOKED.json, left.why, attempts=0), ()))
    for number, row in enumerate(rows):  # with the files there are to look at
        names = ["index.html", "log.txt", *(f"{stage.stage}/notebook.ipynb" for stage in row.stages)]
        files = frozenset(name for name in names if (folder / row.name / name).is_file())
        rows[number] = replace(row, place=row.name, files=files)
    return rows


def _make_row(number: int, item: Item, ended: Ended | None, folder: Path) -> Row:
    ended = ended or Ended(item.name, NOT_RUN, Status.NOT_LOOKED.json, Sentence("RUN400.not_run"), attempts=0)
    stages = () if ended.state == NOT_RUN else _read_stages(folder / item.name, item.stages)
    row = Row(number, ended, stages, item.tags, item.parameters)
    return replace(row, cause=cause_of(ended, row.red_stage)) if row.red else row


def _read_stages(folder: Path, names: tuple[str, ...]) -> tuple[StageRow, ...]:
    path = folder / "report.json"
    try:
        file_status = path.stat()
    except OSError:
        return ()
    try:
        return _read_report_stages(path, file_status.st_mtime_ns, file_status.st_size, names)
    except WorkbookError as error:  # the run's own end is told all the same
        sentence: Scalar = Sentence(error.key, **error.arguments)
        return tuple(StageRow(name, "unreadable", Status.NOT_LOOKED.json, sentence) for name in names)


@lru_cache(maxsize=4096)
def _read_report_stages(path: Path, changed_ns: int, size: int, names: tuple[str, ...]) -> tuple[StageRow, ...]:
    """Read the stages of the run's own report, once for as long as the file stays as it is."""
    return stages_of(reports.load_report(path), path.parent, names)


def stages_of(report: Report, folder: Path, names: tuple[str, ...]) -> tuple[StageRow, ...]:
    """Return what a run's report says of its stages; `folder` is the run's."""
    outcomes = {outcome_facts["stage"]: outcome_facts for outcome_facts in report.facts.get("outcomes", [])}
    shown: dict[str, dict[str, Scalar]] = {}
    table = report.table or Table((), ())
    for row in table.rows:
        if isinstance(row[0], dict):
            shown[str(row[0]["say"]).rpartition(".")[2]] = dict(zip((column.name for column in table.columns), row))
    stage_rows = []
    for name in names:
        outcome, cells = outcomes.get(name), shown.get(name)
        if outcome and cells and outcome["state"] == NOT_RUN:  # it waits for another
            stage_rows.append(StageRow(name, NOT_RUN, Status.NOT_LOOKED.json, cells["verdict"]))
            continue
        if outcome is None or cells is None:  # begun and not ended, or not begun
            begun = load_outcome(folder / name)
            stopped = begun is not None and begun.state == STOPPED
            state = (
                (STOPPED, Status.FIX, "RUN400.stopped") if stopped else (NOT_RUN, Status.NOT_LOOKED, "RUN400.not_run")
            )
            stage_rows.append(StageRow(name, state[0], state[1].json, Sentence(state[2])))
            continue
        status, tier = Status.from_json(cells["status"]).json, str(cells["tier"])
        ended = (float(outcome["seconds"]), outcome["reused"], outcome["error"])
        stage_rows.append(StageRow(name, outcome["state"], status, cells["verdict"], tier, *ended))
    return tuple(stage_rows)


#: Sentences that pass on what another says, and under which name they have it; the others have it as `verdict`.
PASSED_ON = {"MIG150.joined": "run", "MIG140.failed": "why"}
#: Of these the error is the cause, not that there was one.
FAILED = ("launch.failed", "launch.failed_known")


def cause_of(ended: Ended, stage: StageRow | None) -> str:
    """Return the key of a red run's cause: `known:ID`, `error:TEXT` with what passes taken out, or `verdict:KEY`."""
    if stage is not None and stage.state == STOPPED:  # from outside: the run tells why
        stage = None
    if stage is None or not stage.error or stage.state == "red":
        return f"verdict:{_innermost_key(stage.verdict if stage else ended.verdict, ended.state)}"
    known_error = explain_text(stage.error)
    if known_error is not None:
        return f"known:{known_error.known.id}"
    return f"error:{stage.state}:{strip_passing(stage.error)}"


def _innermost_key(verdict: object, state: str) -> str:
    """Return the key of the innermost sentence: `RUN400.red` passes on a stage's verdict, and that an error."""
    joined = ""
    while isinstance(verdict, dict):
        key, args = str(verdict.get("say", "")), verdict.get("args") or {}
        inner = args.get(PASSED_ON.get(key, "verdict"))
        if not isinstance(inner, dict):
            if key in FAILED:
                return f"launch.failed:{strip_passing(str(args.get('error', '')))}"
            return f"{joined}{key}" if key in load_catalogue() else state
        joined = f"{key}:" if key == "MIG150.joined" else joined  # its run may be good, and the scan be red
        verdict = inner
    return state if state != RED else str(verdict)[:LONGEST]


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
    marked = []
    for row in rows:
        meets = (
            expectation
            for expectation in valid
            if fnmatchcase(row.name, expectation.run) and _failed_as_expected(row, expectation)
        )
        met = next(meets, None)
        marked.append(replace(row, ended=replace(row.ended, state=EXPECTED), expected=met) if met else row)
    remarks = [_report_expectation(expectation, marked, over=expectation not in valid) for expectation in expect]
    return marked, list(chain.from_iterable(remarks))


def _failed_as_expected(row: Row, expectation: Expected) -> bool:
    """Return whether a run failed as expected, and in no other way: each stage that is red is red so."""
    at = not expectation.stage or {stage.stage for stage in row.stages if stage.red} == {expectation.stage}
    so = row.state in FAILURES and at and expectation.state in ("", _failure_state(row))
    return so and (not expectation.says or _verdict_has(row, expectation.says))


def _failure_state(row: Row) -> str:
    """Return how a run failed; `red` is a notebook's own verdict, not a run that could not start."""
    kinds = {stage.state for stage in row.stages if stage.red}
    return row.state if row.state != RED else kinds.pop() if len(kinds) == 1 else ""


def _verdict_has(row: Row, text: str) -> bool:
    """Return whether the error or verdict of each red stage has the text, or else the run's own."""
    pattern = re.compile(re.escape(text).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)
    own = [] if row.state == RED and row.red_stage else [show(row.ended.verdict, lang) for lang in LANGUAGES]
    stages = [stage for stage in row.stages if stage.red]
    texts = [[stage.error, *(show(stage.verdict, lang) for lang in LANGUAGES), *own] for stage in stages] or [own]
    return all(any(map(pattern.search, texts_of_stage)) for texts_of_stage in texts)


def _report_expectation(expectation: Expected, rows: list[Row], *, over: bool) -> Iterator[Finding]:
    """Yield the findings about an expectation; `rows` as marked: what one met is no news for another."""
    matching_rows = [row for row in rows if fnmatchcase(row.name, expectation.run)]
    met = [row.name for row in matching_rows if row.expected is expectation or _failed_as_expected(row, expectation)]
    args: dict[str, Scalar] = {name: getattr(expectation, name) for name in ("run", "until", "reason")}
    args |= {"what": list(_describe_bounds(expectation)), "runs": list(met), "count": len(met)}
    good: list[Scalar] = [row.name for row in matching_rows if row.good]
    otherwise = [row for row in matching_rows if row.state in FAILURES and not _failed_as_expected(row, expectation)]
    if not matching_rows:
        yield Finding("RUN412", Status.LOOK, "RUN412.nothing", args, weight=30)
    if met:
        key = "RUN412.expired" if over else "RUN412.expected"
        yield Finding("RUN412", Status.FIX if over else Status.NOTE, key, args, weight=40)
    elif good and all(row.state in (GOOD, *FAILURES) for row in matching_rows):  # none that might yet meet it
        yield Finding("RUN412", Status.LOOK, "RUN412.passes", {**args, "runs": good, "count": len(good)}, weight=30)
    if otherwise:
        how: list[Scalar] = [*map(_describe_failure, otherwise[:TOLD]), *(["…"] if len(otherwise) > TOLD else [])]
        more: dict[str, Scalar] = {"runs": [row.name for row in otherwise], "count": len(otherwise), "how": how}
        yield Finding("RUN412", Status.FIX, "RUN412.elsewhere", {**args, **more}, weight=35)


def _describe_failure(row: Row) -> Scalar:
    """Describe where a run failed and what it said there, in the words of what may be expected of it."""
    stage, state = row.red_stage, _failure_state(row)
    # of one that cannot be expected its sentence tells
    state = state if f"plan.expects.{state}" in load_catalogue() else ""
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
