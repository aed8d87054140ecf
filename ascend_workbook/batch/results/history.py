"""Earlier summaries of a plan, kept in `history/` of its folder, and what changed since.

They are numbered in the order in which they were made: the clock of a machine may be set back between two of them.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from ascend_workbook.batch.results.rows import FIXED, LOWER_TIER, NEW, NEWLY_RED, SLOWER, STILL_RED, Row, has_ended
from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import TIERS
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.storage import open_storage

FOLDER, KEPT, LAST = "history", 30, "last"
#: The form of summary.json; summary.schema.json describes it.
SCHEMA_VERSION = 2
READABLE = (1, SCHEMA_VERSION)


def find_earlier(name_or_path: str, folder: Path, plan: str) -> Before | None:
    """Find the earlier summary that the user named. `last` is the last complete one of this plan (None where there is
    none), else the name is a summary.json or the folder that holds one. Raises WorkbookError for a path that holds
    none."""
    if name_or_path != LAST:
        path = Path(name_or_path)
        path = path / "summary.json" if path.is_dir() else path
        try:
            return _make_before(path, _load_summary(path))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as cause:
            why: Scalar = explain_os_error(cause) if isinstance(cause, OSError) else str(cause)
            raise WorkbookError("plan.against", path=str(path), error=why) from cause
    for path in reversed(_list_summaries(folder)):
        try:
            summary = _load_summary(path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # the ones before it are as good as it was
        if summary["plan"] == plan and summary["complete"]:
            return _make_before(path, summary)
    return None


def keep_summary(folder: Path, summary: dict[str, Any]) -> None:
    """Keep a complete summary and drop the oldest above KEPT; the same one is kept once."""
    if not summary["complete"]:
        return
    summaries = _list_summaries(folder)
    text = json.dumps(summary, ensure_ascii=False, indent=1)
    when = "".join(letter for letter in summary["created"] if letter.isalnum())
    again = next((path.stem for path in summaries if path.stem.endswith(when)), "")
    name = again or f"{max(map(_number_of, summaries), default=0) + 1:06}-{when}"
    open_storage(str(folder / FOLDER)).write_text(f"{name}.json", text)
    for old in [path for path in summaries if path.stem != name][: max(0, len(summaries) + 1 - KEPT)]:
        old.unlink(missing_ok=True)


def load_history(folder: Path) -> list[dict[str, Any]]:
    """Load the kept summaries of a plan in the order in which they were made, but those that cannot be read."""
    summaries = []
    for path in _list_summaries(folder):
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            content: dict[str, Any] = _load_summary(path)
            summaries.append({name: content[name] for name in ("created", "counts", "runs")})
    return summaries


def _list_summaries(folder: Path) -> list[Path]:
    """List the summaries in the order in which they were made."""
    paths = (path for path in (folder / FOLDER).glob("*.json") if not path.name.startswith("."))
    return sorted(paths, key=lambda path: (_number_of(path), path.name))


def _number_of(path: Path) -> int:
    """Return the number of a summary; 0 where its name is its time alone, as it is older than all numbered ones."""
    number, dash, _ = path.stem.partition("-")
    return int(number) if dash and number.isdecimal() else 0


def _load_summary(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if content["schema_version"] not in READABLE:
        raise ValueError(f"schema_version {content['schema_version']!r}, expected {SCHEMA_VERSION}")
    return content


def _make_before(path: Path, content: dict[str, Any]) -> Before:
    needed = ("name", "state", "red", "seconds", "tier", "attempts", "reused", "stages")
    runs = {run["name"]: {name: run[name] for name in needed} for run in content["runs"]}
    return Before(str(path), str(content["created"]), runs)


#: Two machines of one folder may differ by so much.
ALIKE = timedelta(minutes=10)


def decide_day(folder: Path, now: datetime) -> tuple[date, tuple[Finding, ...]]:
    """Return the later of today and of the latest summary in the plan's folder, in UTC, with a finding where that lies
    ahead."""
    times: list[tuple[datetime, Path]] = []
    for path in _list_summaries(folder):
        with suppress(ValueError):  # a file of another's
            when = datetime.strptime(path.stem.rpartition("-")[2][:15], "%Y%m%dT%H%M%S")
            times.append((when.replace(tzinfo=timezone.utc), path))
    then, path = max(times, default=(now, folder))
    if then <= now + ALIKE:
        return now.date(), ()
    args: dict[str, Scalar] = {"now": f"{now:%Y-%m-%d %H:%M}", "then": f"{then:%Y-%m-%d %H:%M}", "path": str(path)}
    return then.date(), (Finding("RUN416", Status.LOOK, "RUN416.clock", args, weight=90),)


#: Slower means: this many times as long, and this many seconds longer. Less is within what a busy machine does.
RATIO, LEAST_S = 1.25, 10.0


@dataclass(frozen=True)
class Before:
    """An earlier summary.json: where it lies, when it was made, and its runs by name."""

    place: str
    created: str
    runs: dict[str, dict[str, Any]]

    @property
    def when(self) -> str:
        """Return the time of the summary to the minute, as a reader sees it."""
        return f"{self.created.replace('T', ' ')[:16]} UTC"


@dataclass(frozen=True)
class Changes:
    """The runs of each kind by name, in the plan's order. `uncompared` ran now, but not then."""

    before: Before
    by_kind: dict[str, list[str]] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    uncompared: tuple[str, ...] = ()

    def names_of(self, kind: str) -> list[str]:
        return self.by_kind.get(kind, [])


def compare_runs(rows: list[Row], before: Before) -> tuple[list[Row], Changes]:
    """Return the rows with their change, and all changes."""
    changed = [_with_change(row, before.runs.get(row.name)) for row in rows]
    kinds: dict[str, list[str]] = {}
    for row in changed:
        if row.change:
            kinds.setdefault(row.change, []).append(row.name)
    current_names = {row.name for row in rows}
    removed = tuple(name for name in before.runs if name not in current_names)
    unrun = {name for name, earlier in before.runs.items() if not _has_run(earlier)}
    uncompared = tuple(row.name for row in rows if has_ended(row) and row.name in unrun)
    return changed, Changes(before, kinds, removed, uncompared)


def _has_run(earlier: dict[str, object]) -> bool:
    return earlier["state"] not in ("not_run", "left_out")


def _with_change(row: Row, earlier: dict[str, Any] | None) -> Row:
    if not has_ended(row):
        return row
    if earlier is None:
        return replace(row, change=NEWLY_RED if row.red else NEW)
    if not _has_run(earlier):  # neither newly red nor still: told as not compared
        return row
    row = replace(row, before_s=float(earlier["seconds"]))
    if row.red:
        return replace(row, change=STILL_RED if earlier["red"] else NEWLY_RED)
    if not row.good:  # a failure that was expected, or what did not look, is neither fixed nor slower
        return row
    if earlier["red"]:
        return replace(row, change=FIXED)
    tiers = (earlier["tier"], row.ended.tier)
    if all(tier in TIERS for tier in tiers) and TIERS.index(tiers[1]) > TIERS.index(tiers[0]):
        return replace(row, change=LOWER_TIER)
    return replace(row, change=SLOWER if _is_slower(row, earlier) else "")


def _is_slower(row: Row, earlier: dict[str, Any]) -> bool:
    """Return whether a run is slower, of those that ran whole both times on the same kind of device."""
    alike = row.ended.tier == earlier["tier"] and row.ended.attempts == earlier["attempts"] == 1
    reused = row.ended.reused or earlier["reused"] or any(stage.reused for stage in row.stages)
    reused = reused or any(stage["reused"] for stage in earlier["stages"])
    took, before = row.ended.seconds, float(earlier["seconds"])
    return alike and not reused and took >= before * RATIO and took - before >= LEAST_S
