"""An earlier benchmark's report as the baseline: the same configurations, by name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from helpers.errors import WorkbookError
from helpers.profiling.benchmark.facts import Bench, Measured
from helpers.report import Report, load

VERB = "benchmark"


def load_baseline(path: str | os.PathLike[str]) -> Report:
    """The benchmark's report in the file, alone or a part of another one. Raises WorkbookError where it has none."""
    found = next(_within(load(path)), None)
    if found is None:
        raise WorkbookError("benchmark.no_baseline", path=os.fspath(path))
    return found


def told(baseline: Report) -> dict[str, Any]:
    return dict(baseline.facts["benchmark"])


def ratio(bench: Bench, one: Measured) -> float | None:
    """Its throughput over that of the baseline's configuration of this name; None where that has none."""
    its = _same(bench, one)
    return one.rate_per_s / its["rate_per_s"] if its and one.done else None


def apart(bench: Bench, one: Measured) -> bool:
    """Whether the two differ beyond their uncertainty; unknown counts as no."""
    its, mine = _same(bench, one), one.rate_interval
    if its is None or mine is None or its["rate_low_per_s"] is None:
        return False
    return bool(mine[0] > its["rate_high_per_s"] or mine[1] < its["rate_low_per_s"])


def kinds(bench: Bench) -> tuple[str, str] | None:
    """What the baseline and this one measured (training, inference, loading) where these differ."""
    its, mine = "" if bench.baseline is None else told(bench.baseline).get("kind"), bench.facts.get("kind")
    return None if bench.baseline is None or its == mine else (str(its), str(mine))


def _same(bench: Bench, one: Measured) -> dict[str, Any] | None:
    if bench.baseline is None or told(bench.baseline)["unit"] != bench.unit or kinds(bench):
        return None
    rows = told(bench.baseline)["configurations"]
    return next((row for row in rows if row["name"] == one.name and row["outcome"] == "measured"), None)


def _within(report: Report) -> Iterator[Report]:
    if report.verb == VERB and "benchmark" in report.facts:
        yield report
    for part in report.parts:
        yield from _within(part)
