"""The runs of a plan as one Report: a sentence for all, one for each that is not good, and a row per run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.batch.campaign.ended import EXPECTED, LEFT_OUT, NOT_RUN, STOPPED
from ascend_workbook.batch.results.history import LEAST_S, RATIO, Changes
from ascend_workbook.batch.results.rows import FIXED, LOWER_TIER, NEW, NEWLY_RED, SLOWER, STILL_RED, Row, has_ended
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence

#: Names that a sentence lists before it only counts them.
NAMED = 5
COLUMNS = (
    *(Column("planned_run", wrap=40), Column("run_result"), Column("status")),
    *(Column("verdict", wrap=50), Column("tier"), Column("seconds", "s")),
)


@dataclass(frozen=True)
class Results:
    """All there is to show of a plan. `finished`: no run is still to come, so one that did not run is red.
    `stopped`: the `user`, or a `bound`, ended it before. `shards`: what there is to say of those joined here,
    or of what could not be sent, `clock` of this machine's."""

    name: str
    rows: tuple[Row, ...]
    finished: bool
    remarks: tuple[Finding, ...] = ()
    changes: Changes | None = None
    asked: str = ""
    stopped: str = ""
    shards: tuple[Finding, ...] = ()
    clock: tuple[Finding, ...] = ()

    @property
    def reds(self) -> list[Row]:
        """Return the rows that make the night red, the newly red first."""
        reds = [row for row in self.rows if row.red or (self.finished and row.state == NOT_RUN)]
        return sorted(reds, key=lambda row: row.change not in (NEWLY_RED, ""))

    @property
    def complete(self) -> bool:
        """Whether every run that was asked for has ended by itself."""
        whole = self.finished and not any(finding.status is Status.FIX for finding in self.shards)
        return whole and all(row.state not in (NOT_RUN, STOPPED) for row in self.rows)

    @property
    def beside(self) -> str:
        """What `shards` speak of."""
        return "storage" if any(finding.rule == "RUN402" for finding in self.shards) else "shards"

    def count_state(self, state: str) -> int:
        return sum(row.state == state for row in self.rows)

    @property
    def simulated(self) -> int:
        """Count the runs that were made on the simulated NPU."""
        return sum(row.ended.simulated for row in self.rows)

    @property
    def groups(self) -> list[tuple[str, list[Row]]]:
        """Reds by cause: those with a newly red first, then the cause of most."""
        by_cause: dict[str, list[Row]] = {}
        for row in self.reds:
            by_cause.setdefault(row.cause or f"verdict:{row.state}", []).append(row)
        old = {cause: all(row.change != NEWLY_RED for row in rows) for cause, rows in by_cause.items()}
        return sorted(by_cause.items(), key=lambda group: (old[group[0]], -len(group[1])))


def report_on(results: Results, folder: Path) -> Report:
    """Make the report of the results; Fix exactly where something is red."""
    findings = [
        _first_finding(results),
        *results.shards,
        *results.clock,
        *_report_changes(results),
        *results.remarks,
        *map(_make_finding, results.rows),
    ]
    return Report(
        "batch",
        "run",
        tuple(findings),
        Table(COLUMNS, tuple(map(_table_row, results.rows))),
        Chart("bars", "planned_run", ("seconds",), "s"),
        facts={"name": results.name, "page": str(folder / "index.html"), "simulated": bool(results.simulated)},
        answers=("RUN402", "RUN410", "RUN415"),
    )


def _table_row(row: Row) -> tuple[Scalar, ...]:
    seconds = row.ended.seconds if has_ended(row) else None
    return row.name, Sentence(row.word), row.status, row.ended.verdict, row.ended.tier, seconds


def _first_finding(results: Results) -> Finding:
    """Make the first finding: how many are red, how many newly, the first one and why."""
    reds, selected = results.reds, [row for row in results.rows if row.state != LEFT_OUT]
    ended_count = sum(map(has_ended, selected))
    args: dict[str, Scalar] = {"runs": len(selected), "red": len(reds), "ended": ended_count}
    args["more"] = list(_describe_more(results))
    plain = "" if args["more"] else "_plain"
    if results.stopped == "user":
        stopped = results.count_state(STOPPED)
        args |= {"ended": ended_count - stopped, "red": len(reds) - stopped}
        return Finding("RUN410", Status.FIX if reds else Status.NOT_LOOKED, "RUN410.by_user", args, weight=300)
    if reds:
        first = reds[0]
        args |= {"run": first.name, "why": first.ended.verdict}
        ended_all = ended_count == len(selected) or results.finished
        key = f"red{plain}" if ended_all else "red_so_far"
        return Finding("RUN410", Status.FIX, f"RUN410.{key}", args, _place_of(first), weight=300)
    if not selected:
        return Finding("RUN410", Status.NOT_LOOKED, "RUN410.none", args, weight=300)
    if ended_count < len(selected):
        return Finding("RUN410", Status.NOT_LOOKED, "RUN410.waiting", args, weight=300)
    worst = max(Status.from_json(row.status) for row in selected)
    good = sum(row.good for row in selected)
    key = "none_red" if good < len(selected) else f"good{plain}"
    return Finding("RUN410", worst, f"RUN410.{key}", {**args, "good": good}, weight=300)


def _describe_more(results: Results) -> Iterator[Scalar]:
    """Yield what the first sentence adds to its number."""
    counts = Counter(row.change for row in results.rows)
    counts_by_kind = {
        "newly_red": counts[NEWLY_RED] if results.changes else 0,
        "fixed": counts[FIXED],
        "slower": counts[SLOWER],
        "expected": results.count_state(EXPECTED),
        "left_out": results.count_state(LEFT_OUT),
        "warned": sum(row.status == Status.LOOK.json and row.state != EXPECTED for row in results.rows),
        "unseen": sum(row.status == Status.NOT_LOOKED.json and has_ended(row) for row in results.rows),
        "simulated": results.simulated,
    }
    for name, count in counts_by_kind.items():
        if count:
            yield Sentence(f"plan.more.{name}", count=count)
    if not results.changes and results.asked:
        yield Sentence("plan.more.first_time")


def _report_changes(results: Results) -> Iterator[Finding]:
    """Yield a finding for each kind of change, and one where nothing changed."""
    if results.changes is None:
        return
    changes = results.changes
    kinds = {NEWLY_RED: Status.FIX, STILL_RED: Status.FIX, LOWER_TIER: Status.LOOK}
    kinds |= {SLOWER: Status.NOTE, FIXED: Status.GOOD, NEW: Status.GOOD}
    listed = [(kind, status, changes.names_of(kind)) for kind, status in kinds.items()]
    listed += [("gone", Status.NOTE, list(changes.gone)), ("uncompared", Status.NOTE, list(changes.uncompared))]
    compared = sum(row.before_s is not None for row in results.rows)
    if compared and not any(changes.names_of(kind) for kind in (NEWLY_RED, FIXED, SLOWER, LOWER_TIER)):
        args: dict[str, Scalar] = {"count": compared, "then": changes.before.when}
        yield Finding("RUN411", Status.GOOD, "RUN411.same", args, weight=100)
    for kind, status, names in listed:
        if names:
            shown: Scalar = [*names[:NAMED], *(["…"] if len(names) > NAMED else [])]
            args = {"count": len(names), "runs": shown, "then": changes.before.when}
            limits: dict[str, Scalar] = {"ratio": RATIO, "seconds": LEAST_S} if kind == SLOWER else {}
            yield Finding("RUN411", status, f"RUN411.{kind}", {**args, **limits}, weight=100)


def _make_finding(row: Row) -> Finding:
    sentence_args: dict[str, Scalar] = {"run": row.name, "verdict": row.ended.verdict}
    weight = 20 if row.red else 10
    return Finding("RUN413", Status.from_json(row.status), "RUN413.run", sentence_args, _place_of(row), weight=weight)


def _place_of(row: Row) -> Place | None:
    """Where to look."""
    return Place(row.page) if row.page else None
