"""What a benchmark measured: a configuration each, and where it ran."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.profiling.benchmark import statistics

MEASURED, OUT_OF_MEMORY, FAILED, NOT_RUN = "measured", "out_of_memory", "failed", "not_run"
SIMULATED = "npu-simulated"
LEAST_STEPS = 2


@dataclass(frozen=True)
class Measured:
    """One configuration. `settings`: axis -> value, as they are told.

    `runs_s`: seconds of each steady step, a run each. `rate_s`: the same where the device was not waited for after
    each (empty: as runs_s); throughput is of it. `samples`, `tokens`: of one step, None where not told.
    `loading_s`: of each step, how long data was waited for. `host_at_most_mib`: where the host's peak is not known
    because this process had taken as much before.
    """

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

    @cached_property
    def times_s(self) -> tuple[float, ...]:
        """Return the seconds of all steady steps, of all runs."""
        return tuple(seconds for run in self.runs_s for seconds in run)

    @property
    def done(self) -> bool:
        return self.outcome == MEASURED

    def percentile_ms(self, percent: float) -> float:
        """Return a percentile of the step times in milliseconds."""
        return 1e3 * statistics.compute_percentile(self.times_s, percent)

    @cached_property
    def rate_per_s(self) -> float:
        """Return the samples (steps where these are not told) a second: all of them over all their time.

        Not by the median step: workers of a DataLoader deliver in bursts, and then it is of a step without any wait.
        """
        times = [seconds for run in self.rate_s or self.runs_s for seconds in run]
        return self._amount * len(times) / sum(times)

    @cached_property
    def rate_interval(self) -> tuple[float, float] | None:
        """Return the 95 % confidence of the throughput, low and high."""
        times = statistics.confidence_interval(self.rate_s or self.runs_s)
        return None if times is None or not times[0] else (self._amount / times[1], self._amount / times[0])

    @property
    def tokens_per_s(self) -> float | None:
        return None if not self.tokens else self.rate_per_s * self.tokens / self._amount

    @property
    def spread_percent(self) -> float:
        return max(statistics.spread_percent(run) for run in self.runs_s)

    @property
    def drift_percent(self) -> float:
        return max((statistics.drift_percent(run) for run in self.runs_s), key=abs)

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
        own_interval, other_interval = self.rate_interval, other.rate_interval
        return (
            own_interval is not None
            and other_interval is not None
            and (own_interval[0] > other_interval[1] or own_interval[1] < other_interval[0])
        )


@dataclass(frozen=True)
class Bench:
    """All configurations. `unit`: what throughput counts; `hardware`: tier, device, count, versions, as JSON.

    `axes`: the names of what was varied. `baseline`: an earlier benchmark's report. `no_power`: why power is unknown.
    """

    measured: tuple[Measured, ...]
    unit: str
    hardware: dict[str, Any]
    axes: tuple[str, ...] = ()
    repeats: int = 1
    baseline: Report | None = None
    no_power: Scalar = None
    facts: dict[str, Any] = field(default_factory=dict)

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
        groups: dict[tuple[Any, ...], list[Measured]] = {}
        for configuration in self.successful:
            rest = tuple(
                sorted((name, str(value)) for name, value in configuration.settings.items() if name not in axes)
            )
            groups.setdefault(rest, []).append(configuration)
        return list(groups.values())
