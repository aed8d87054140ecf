"""What a benchmark measured: a configuration each, where it ran, and what an earlier one measured of the same."""

from __future__ import annotations

import os
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report, load_report
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.machine.device import Device

#: Student's t, two-sided 95 %, by degrees of freedom (one less than the groups)
T95 = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228}
#: One run's steps are not independent: their means in so many consecutive groups nearly are
GROUPS = 5
#: Interquartile range and drift, in percent of the median: from where on a time is not steady, and is no result
LOOSE, UNSTEADY = 10.0, 25.0
#: Median steps, from where on one is told by itself
FAR = 5.0


def compute_percentile(times: Sequence[float], percent: float) -> float:
    """Compute a percentile: between the two nearest of the sorted times, linearly."""
    return float(np.percentile(times, percent))


def spread_percent(times: Sequence[float]) -> float:
    """Return the interquartile range, in percent of the median."""
    return 100 * (compute_percentile(times, 75) - compute_percentile(times, 25)) / compute_percentile(times, 50)


def drift_percent(times: Sequence[float]) -> float:
    """Return how much longer the last third takes than the first, in percent; 0 for fewer than six."""
    third = len(times) // 3
    if third < 2:
        return 0.0
    return 100 * (statistics.median(times[-third:]) / statistics.median(times[:third]) - 1)


def find_far_steps(times: Sequence[float]) -> list[float]:
    """Return the times of more than FAR median steps: an evaluation, a checkpoint, a wait for a burst of data."""
    limit = FAR * compute_percentile(times, 50)
    return [seconds for seconds in times if seconds > limit]


def confidence_interval(runs: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Return the 95 % confidence of the mean time, of the means of three or more runs, else of groups of consecutive
    steps. None where there are too few steps for groups. What differs from run to run is only in it with three runs."""
    means = [statistics.fmean(run) for run in runs if run]
    if len(means) < 3:
        sizes = [(run, len(run) // GROUPS) for run in runs if len(run) >= GROUPS]
        means = [statistics.fmean(run[at * size : (at + 1) * size]) for run, size in sizes for at in range(GROUPS)]
    if len(means) < 3:
        return None
    half = T95.get(len(means) - 1, 2.0) * statistics.stdev(means) / len(means) ** 0.5
    center = statistics.fmean([seconds for run in runs for seconds in run])
    return max(0.0, center - half), center + half


@dataclass(frozen=True)
class Tried:
    """A setting beside the script as it is, in `rounds` rounds of one run each. `verdict`: of deciding; `ratio` of
    their speeds, which lies between `low` and `high` (None: not bounded). `loss_apart`: how far its losses are from
    those of the script as it is, as a share of these, where they should be the same; `loss_spread` how far those are
    from themselves. `lines`: what to copy to have it."""

    verdict: str
    ratio: float
    low: float | None
    high: float | None
    rounds: int
    loss_apart: float | None = None
    loss_spread: float | None = None
    lines: tuple[str, ...] = ()

    @property
    def loss_differs(self) -> bool:
        """Return whether its losses are further off than those of the script as it is are from themselves."""
        return self.loss_apart is not None and self.loss_apart > max(SAME_LOSS, 3 * (self.loss_spread or 0.0))


#: Losses that differ by no more, as a share, are the same
SAME_LOSS = 1e-3
MEASURED, OUT_OF_MEMORY, FAILED, NOT_RUN = "measured", "out_of_memory", "failed", "not_run"
SIMULATED = "npu-simulated"
LEAST_STEPS = 2


@dataclass(frozen=True)
class Measured:
    """One configuration. `settings`: axis -> value, as they are told. `runs_s`: seconds of each steady step, a run
    each. `rate_s`: the same where the device was not waited for after each (empty: as runs_s); throughput is of it.
    `samples`, `tokens`: of one step, None where not told. `loading_s`: of each step, how long data was waited for.
    `host_at_most_mib`: where the host's peak is not known because this process had taken as much before."""

    name: str
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    outcome: str = MEASURED
    why: Scalar = None
    runs_s: tuple[tuple[float, ...], ...] = ()
    rate_s: tuple[tuple[float, ...], ...] = ()
    samples: float | None = None
    tokens: float | None = None
    loading_s: tuple[float, ...] = ()
    device_peak_mib: float | None = None
    host_peak_mib: float | None = None
    host_at_most_mib: float | None = None
    power_w: float | None = None
    tried: Tried | None = None

    @cached_property
    def times_s(self) -> tuple[float, ...]:
        """Return the seconds of all steady steps, of all runs."""
        return tuple(seconds for run in self.runs_s for seconds in run)

    @property
    def done(self) -> bool:
        return self.outcome == MEASURED

    def percentile_ms(self, percent: float) -> float:
        """Return a percentile of the step times in milliseconds."""
        return 1e3 * compute_percentile(self.times_s, percent)

    @cached_property
    def rate_per_s(self) -> float:
        """Return the samples (steps where these are not told) a second: all of them over all their time. Not by the
        median step: workers of a DataLoader deliver in bursts, and then it is of a step without any wait."""
        times = [seconds for run in self.rate_s or self.runs_s for seconds in run]
        return self._amount * len(times) / sum(times)

    @cached_property
    def rate_interval(self) -> tuple[float, float] | None:
        """Return the 95 % confidence of the throughput, low and high."""
        times = confidence_interval(self.rate_s or self.runs_s)
        return None if times is None or not times[0] else (self._amount / times[1], self._amount / times[0])

    @property
    def tokens_per_s(self) -> float | None:
        return None if not self.tokens else self.rate_per_s * self.tokens / self._amount

    @property
    def spread_percent(self) -> float:
        return max(spread_percent(run) for run in self.runs_s)

    @property
    def drift_percent(self) -> float:
        return max((drift_percent(run) for run in self.runs_s), key=abs)

    @property
    def loading_percent(self) -> float | None:
        """Return how much of the time of all steps was waiting for data, in percent."""
        return 100 * sum(self.loading_s) / sum(self.times_s) if self.loading_s else None

    @property
    def waiting_ms(self) -> float | None:
        """Return how long a step waits for data on average, in milliseconds."""
        return 1e3 * sum(self.loading_s) / len(self.times_s) if self.loading_s else None

    @property
    def _amount(self) -> float:
        return self.samples or 1.0

    def apart_from(self, other: Measured) -> bool:
        """Return whether the two throughputs differ beyond their uncertainty; unknown counts as no."""
        own, others = self.rate_interval, other.rate_interval
        return own is not None and others is not None and (own[0] > others[1] or own[1] < others[0])


def describe_hardware(device: Device) -> dict[str, object]:
    """Return what a benchmark tells of the device it ran on."""
    return {"tier": device.tier, "device": device.name, "count": device.count, "versions": device.versions}


@dataclass(frozen=True)
class Bench:
    """All configurations. `unit`: what throughput counts; `hardware`: tier, device, count, versions, as JSON. `axes`:
    the names of what was varied. `baseline`: an earlier benchmark's report. `no_power`: why power is unknown."""

    measured: tuple[Measured, ...]
    unit: str
    hardware: dict[str, object]
    axes: tuple[str, ...] = ()
    repeats: int = 1
    baseline: Report | None = None
    no_power: Scalar = None
    facts: dict[str, object] = field(default_factory=dict)
    trial: bool = False

    @property
    def tier(self) -> str:
        return str(self.hardware["tier"])

    @property
    def simulated(self) -> bool:
        return self.tier == SIMULATED

    @property
    def successful(self) -> list[Measured]:
        """Return the configurations that ran."""
        return [configuration for configuration in self.measured if configuration.done]

    def groups_of_axis(self, axis: str) -> list[list[Measured]]:
        """Return the configurations that ran and differ in this axis alone, in the order they were asked for."""
        return [group for group in self.group_alike([axis]) if len(group) > 1 and axis in group[0].settings]

    def group_alike(self, axes: Collection[str]) -> list[list[Measured]]:
        """Group the configurations that ran: together are those that are alike in all but these axes."""
        groups: dict[tuple[tuple[str, str], ...], list[Measured]] = {}
        for configuration in self.successful:
            rest = ((name, str(value)) for name, value in configuration.settings.items() if name not in axes)
            groups.setdefault(tuple(sorted(rest)), []).append(configuration)
        return list(groups.values())


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
    if bench.baseline is None:
        return None
    kinds = baseline_facts(bench.baseline).get("kind"), bench.facts.get("kind")
    return None if kinds[0] == kinds[1] else (str(kinds[0]), str(kinds[1]))


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
