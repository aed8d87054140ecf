"""An earlier benchmark's report as the baseline: the same configurations, by name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report, load_report
from ascend_workbook.profiling.benchmark.facts import Bench, Measured

VERB = "benchmark"


def load_baseline(path: str | os.PathLike[str]) -> Report:
    """Load a file's benchmark report, alone or a part of another report. Raises WorkbookError where it has none."""
    benchmark_report = next(_find_benchmarks(load_report(path)), None)
    if benchmark_report is None:
        raise WorkbookError("benchmark.no_baseline", path=os.fspath(path))
    return benchmark_report


def baseline_facts(baseline: Report) -> dict[str, Any]:
    """Return what the baseline's report tells of its benchmark."""
    return dict(baseline.facts["benchmark"])


def compute_ratio(bench: Bench, configuration: Measured) -> float | None:
    """Return its throughput over that of the baseline's configuration of this name; None where that has none."""
    earlier = _find_same(bench, configuration)
    return configuration.rate_per_s / earlier["rate_per_s"] if earlier and configuration.done else None


def differ_clearly(bench: Bench, configuration: Measured) -> bool:
    """Return whether a configuration and the baseline's differ beyond their uncertainty; unknown counts as no."""
    earlier, interval = _find_same(bench, configuration), configuration.rate_interval
    if earlier is None or interval is None or earlier["rate_low_per_s"] is None:
        return False
    return bool(interval[0] > earlier["rate_high_per_s"] or interval[1] < earlier["rate_low_per_s"])


def find_other_kinds(bench: Bench) -> tuple[str, str] | None:
    """Return what the baseline and this one measured (training, inference, loading) where these differ."""
    earlier_kind, own_kind = (
        "" if bench.baseline is None else baseline_facts(bench.baseline).get("kind"),
        bench.facts.get("kind"),
    )
    return None if bench.baseline is None or earlier_kind == own_kind else (str(earlier_kind), str(own_kind))


def _find_same(bench: Bench, configuration: Measured) -> dict[str, Any] | None:
    """Return the baseline's configuration of this name, None where it has none that can be compared."""
    if bench.baseline is None or baseline_facts(bench.baseline)["unit"] != bench.unit or find_other_kinds(bench):
        return None
    rows = baseline_facts(bench.baseline)["configurations"]
    return next((row for row in rows if row["name"] == configuration.name and row["outcome"] == "measured"), None)


def _find_benchmarks(report: Report) -> Iterator[Report]:
    """Find the benchmarks' reports in a report and its parts."""
    if report.verb == VERB and "benchmark" in report.facts:
        yield report
    for part in report.parts:
        yield from _find_benchmarks(part)
