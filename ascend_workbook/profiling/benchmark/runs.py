"""Runs of a script, one configuration each, in a child that times its steps; what is under way is told line by line."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from ascend_workbook.findings.sentence import Scalar, Sentence, say
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, Plugin, Progress, launch
from ascend_workbook.profiling.benchmark import configurations
from ascend_workbook.profiling.benchmark import facts as benchmark_facts
from ascend_workbook.profiling.benchmark.configurations import Axis, Configuration
from ascend_workbook.profiling.benchmark.facts import LEAST_STEPS, Measured
from ascend_workbook.profiling.benchmark.resources import MEMORY, Power

PLUGIN = Path(__file__).parents[1] / "child" / "benchmark_plugin.py"
#: What child/benchmark_plugin.py writes
TOLD = "benchmark.rank0.json"
#: Seconds after which a run that is silent is told of
SILENT = 10.0


@dataclass
class Run:
    """What the runs of one configuration brought so far."""

    times: list[tuple[float, ...]] = field(default_factory=list)
    losses: list[list[float | None]] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    watts: list[float] = field(default_factory=list)
    outcome: str = ""
    why: Scalar = None


@dataclass
class Runs:
    spec: LaunchSpec
    warmup: int
    amounts: dict[str, float | None]
    found: devices.Device
    on_progress: Callable[[Progress], None] | None
    no_power: Scalar = None
    simulator: dict[str, object] = field(default_factory=dict)
    interrupted: bool = False
    _told_at: float = 0.0

    def run_all(self, varied: list[Axis], repeats: int) -> list[Measured]:
        """Run every configuration as often as wanted, round after round: a machine that slows down slows all. What ran
        before an interruption is kept."""
        wanted = configurations.combine_axes(varied)
        runs = [Run() for _ in wanted]
        doubling = next((axis.name.lstrip("-") for axis in varied if axis.doubling), "")
        try:
            for repeat in range(repeats):
                for at, configuration in enumerate(wanted):
                    if not runs[at].outcome and not self._skip_beyond(at, wanted, runs, doubling):
                        run, of = repeat * len(wanted) + at + 1, repeats * len(wanted)
                        self.tell("benchmark.run", run=run, of=of, name=configuration.name or "-")
                        self.run_once(configuration, runs[at], f"{at}.{repeat}")
        except KeyboardInterrupt:
            self.interrupted = True
            if not any(run.times for run in runs):
                raise
        return [self.summarise_run(configuration, run) for configuration, run in zip(wanted, runs)]

    def tell(self, key: str, **args: Scalar) -> None:
        """Tell a line of what is under way."""
        self._told_at = time.monotonic()
        if self.on_progress:
            self.on_progress(Progress(0, None, None, (say(key, None, **args),)))

    def _pass_on(self, now: Progress) -> None:
        """Pass on what a run tells; one that says nothing for a while is told of by its step."""
        moment = time.monotonic()
        if now.lines:
            self._told_at = moment
        elif moment - self._told_at > SILENT:
            self._told_at = moment
            now = replace(now, lines=(say("benchmark.step", None, step=now.step, steps=now.steps),))
        if self.on_progress:
            self.on_progress(now)

    def _skip_beyond(self, at: int, wanted: list[Configuration], runs: list[Run], doubling: str) -> bool:
        """Return whether a smaller value of a doubling axis found no memory or failed, and write down which."""
        rest = {name: value for name, value in wanted[at].settings.items() if name != doubling}
        for earlier, run in zip(wanted[:at], runs):
            same = {name: value for name, value in earlier.settings.items() if name != doubling} == rest
            if doubling and same and run.outcome:
                runs[at].outcome = benchmark_facts.NOT_RUN
                key = "benchmark.beyond" if run.outcome == benchmark_facts.OUT_OF_MEMORY else "benchmark.beyond_failed"
                runs[at].why = Sentence(key, name=earlier.name)
                return True
        return False

    def run_once(self, configuration: Configuration, run: Run, name: str) -> None:
        """Run the script once in this configuration and add its times, or how it ended, to the run."""
        varied = {"loader": configuration.loader, "autocast": configuration.autocast}
        config = {"accelerator": self.found.accelerator, **varied, **configuration.child}
        out, args = self.spec.out / "runs" / name, (*self.spec.args, *configuration.args)
        variables = {**(self.spec.env or os.environ), **configuration.environment}
        env = {variable: value for variable, value in variables.items() if value is not None}
        spec = replace(self.spec, out=out, args=args, env=env, plugins=[Plugin(PLUGIN, config)])
        (out / TOLD).unlink(missing_ok=True)
        with Power(self.found) as power:
            result = launch(spec, self._pass_on)
        self.no_power = power.why
        self.simulator = result.simulator or self.simulator
        if power.watts is not None:
            run.watts.append(power.watts)
        timings = dict(json.loads((out / TOLD).read_text(encoding="utf-8"))) if (out / TOLD).is_file() else {}
        times = tuple(timings.get("times_s", ()))[self.warmup :]
        if result.trouble is None and len(times) >= LEAST_STEPS:
            run.times.append(times)
            run.losses.append(result.losses)
            run.told.append(timings)
        else:
            run.outcome, run.why = _explain_end(result, len(times) + self.warmup, self.warmup + LEAST_STEPS)

    def summarise_run(self, configuration: Configuration, run: Run) -> Measured:
        """Make one configuration's result of what its runs brought."""
        name = configuration.name or "-"
        if not run.times and not run.outcome:
            why = Sentence("benchmark.interrupted")
            return Measured(name, configuration.settings, benchmark_facts.NOT_RUN, why)
        if run.outcome:
            return Measured(name, configuration.settings, run.outcome, run.why)
        samples, tokens = (self.amounts[what] or self._amount_per_step(run, what) for what in ("samples", "tokens"))
        loading = tuple(time for timings in run.told for time in timings["loading_s"][self.warmup :])
        peaks = ([timings[f"{where}_peak_mib"] for timings in run.told] for where in ("device", "host"))
        device, host = (max((peak for peak in mib if peak is not None), default=None) for mib in peaks)
        watts = sum(run.watts) / len(run.watts) if run.watts else None
        known_loading = loading if any(loading) else ()
        return Measured(
            name,
            configuration.settings,
            runs_s=tuple(run.times),
            samples=samples,
            tokens=tokens,
            loading_s=known_loading,
            device_peak_mib=device,
            host_peak_mib=host,
            power_w=watts,
        )

    def _amount_per_step(self, run: Run, what: str) -> float | None:
        """Return the median step's amount of all ranks, which load alike."""
        counts = [count for timings in run.told for count in timings[what][self.warmup :]]
        return (median(counts) or 0) * self.spec.nproc or None


def _explain_end(result: LaunchResult, done: int, wanted: int) -> tuple[str, Scalar]:
    """Return the outcome of a run that did not bring its steps, and why."""
    error = result.error
    message = f"{error.type}: {error.message}" if error else ""
    if MEMORY.search(message) or (error and not error.type and MEMORY.search("\n".join(error.traceback))):
        return benchmark_facts.OUT_OF_MEMORY, message.strip(": ")
    if result.trouble is not None:
        return benchmark_facts.FAILED, result.trouble
    return benchmark_facts.FAILED, Sentence("benchmark.few_steps", done=max(0, done), wanted=wanted)
