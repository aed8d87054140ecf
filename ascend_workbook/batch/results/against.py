"""What changed since an earlier time: newly red, fixed, still red, slower, new and gone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ascend_workbook.batch.campaign.ended import GOOD
from ascend_workbook.batch.results.expected import has_ended
from ascend_workbook.batch.results.rows import FIXED, LOWER_TIER, NEW, NEWLY_RED, SLOWER, STILL_RED, Row
from ascend_workbook.findings.report import TIERS

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
    uncompared = tuple(
        row.name for row in rows if has_ended(row) and row.name in before.runs and not _has_run(before.runs[row.name])
    )
    return changed, Changes(before, kinds, removed, uncompared)


def _has_run(earlier: dict[str, Any]) -> bool:
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
    if row.state != GOOD:  # a failure that was expected is neither fixed nor slower
        return row
    if earlier["red"]:
        return replace(row, change=FIXED)
    return replace(
        row, change=LOWER_TIER if _is_on_lower_tier(row, earlier) else SLOWER if _is_slower(row, earlier) else ""
    )


def _is_on_lower_tier(row: Row, earlier: dict[str, Any]) -> bool:
    """Return whether a run is good on a lower tier than before."""
    tiers = (earlier["tier"], row.ended.tier)
    return all(tier in TIERS for tier in tiers) and TIERS.index(tiers[1]) > TIERS.index(tiers[0])


def _is_slower(row: Row, earlier: dict[str, Any]) -> bool:
    """Return whether a run is slower, of those that ran whole both times on the same kind of device."""
    alike = row.ended.tier == earlier["tier"] and row.ended.attempts == earlier["attempts"] == 1
    reused = row.ended.reused or earlier["reused"] or any(stage.reused for stage in row.stages)
    reused = reused or any(stage["reused"] for stage in earlier["stages"])
    took, before = row.ended.seconds, float(earlier["seconds"])
    return alike and not reused and took >= before * RATIO and took - before >= LEAST_S
