"""An unmodified script, once for each configuration and repeat, in a child that times its steps."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, Plugin, Progress, launch
from ascend_workbook.profiling.benchmark import answer, configurations
from ascend_workbook.profiling.benchmark import facts as benchmark_facts
from ascend_workbook.profiling.benchmark.configurations import Axis, Configuration
from ascend_workbook.profiling.benchmark.facts import LEAST_STEPS, Bench, Measured, describe_hardware, load_baseline
from ascend_workbook.profiling.benchmark.resources import MEMORY, Power

PLUGIN = Path(__file__).parents[1] / "child" / "benchmark_plugin.py"
#: What child/benchmark_plugin.py writes
TOLD = "benchmark.rank0.json"


def of_script(
    script: str | os.PathLike[str],
    args: Sequence[str] = (),
    *,
    device: str = "auto",
    steps: int = 20,
    warmup: int = 5,
    repeats: int = 1,
    sweep: Sequence[str] = (),
    loader: Sequence[str] = (),
    autocast: bool = False,
    samples: float | None = None,
    tokens: float | None = None,
    baseline: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] = "benchmark",
    cwd: str | os.PathLike[str] | None = None,
    nproc: int = 1,
    timeout_s: float | None = None,
    python: str = sys.executable,
    on_progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Time `steps` training steps after `warmup` others, `repeats` times, for every combination of what is varied.
    sweep: arguments of the script (`batch-size=8,16,32`, `batch-size=8..1024` until out of memory, `amp`); loader: of
    its DataLoaders (`workers=0,2`, `pin_memory`, `prefetch_factor=2,4`); autocast: its model without and with bfloat16.
    samples, tokens: of one step, where its DataLoader does not tell them. baseline: an earlier benchmark's JSON. Raises
    WorkbookError where an option makes no sense or the device is not here."""
    for name, value, least in (("steps", steps, LEAST_STEPS), ("warmup", warmup, 1), ("repeats", repeats, 1)):
        if value < least:
            raise WorkbookError("profiling.too_few", name=name, value=value, least=least)
    varied = configurations.parse_axes(sweep, loader, autocast)
    before = None if baseline is None else load_baseline(baseline)
    chosen_device = devices.find(device, python=python)
    spec = LaunchSpec(
        out=Path(out),
        script=Path(script),
        args=tuple(args),
        cwd=None if cwd is None else Path(cwd),
        python=python,
        nproc=nproc,
        steps=steps + warmup,
        timeout_s=timeout_s,
        grad_norm=False,
    ).on(chosen_device)
    runs = _Runs(spec, warmup, {"samples": samples, "tokens": tokens}, chosen_device, on_progress)
    measured = runs.run_all(varied, repeats)
    about = {"script": str(script), "args": list(args), "nproc": nproc, "steps": steps, "warmup": warmup}
    unit = "samples" if all(configuration.samples for configuration in measured if configuration.done) else "steps"
    if unit == "steps":  # where one does not tell its samples, steps are counted in all of them
        measured = [replace(configuration, samples=None) for configuration in measured]
    hardware = describe_hardware(chosen_device)
    names = tuple(axis.name.lstrip("-") for axis in varied)
    facts = {**about, "kind": "training", "simulator": runs.simulator}
    return answer.report_benchmark(Bench(tuple(measured), unit, hardware, names, repeats, before, runs.no_power, facts))


@dataclass
class _Run:
    """What the runs of one configuration brought so far."""

    times: list[tuple[float, ...]] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    watts: list[float] = field(default_factory=list)
    outcome: str = ""
    why: Scalar = None


@dataclass
class _Runs:
    spec: LaunchSpec
    warmup: int
    amounts: dict[str, float | None]
    found: devices.Device
    on_progress: Callable[[Progress], None] | None
    no_power: Scalar = None
    simulator: dict[str, object] = field(default_factory=dict)

    def run_all(self, varied: list[Axis], repeats: int) -> list[Measured]:
        """Run every configuration as often as wanted, round after round: a machine that slows down slows all."""
        wanted = configurations.combine_axes(varied)
        runs = [_Run() for _ in wanted]
        doubling = next((axis.name.lstrip("-") for axis in varied if axis.doubling), "")
        for repeat in range(repeats):
            for at, configuration in enumerate(wanted):
                if not runs[at].outcome and not self._skip_beyond(at, wanted, runs, doubling):
                    self._run_once(configuration, runs[at], f"{at}.{repeat}")
        return [self._summarise_run(configuration, run) for configuration, run in zip(wanted, runs)]

    def _skip_beyond(self, at: int, wanted: list[Configuration], runs: list[_Run], doubling: str) -> bool:
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

    def _run_once(self, configuration: Configuration, run: _Run, name: str) -> None:
        """Run the script once in this configuration and add its times, or how it ended, to the run."""
        varied = {"loader": configuration.loader, "autocast": configuration.autocast}
        config = {"accelerator": self.found.accelerator, **varied}
        out, args = self.spec.out / "runs" / name, (*self.spec.args, *configuration.args)
        spec = replace(self.spec, out=out, args=args, plugins=[Plugin(PLUGIN, config)])
        (out / TOLD).unlink(missing_ok=True)
        with Power(self.found) as power:
            result = launch(spec, self.on_progress)
        self.no_power = power.why
        self.simulator = result.simulator or self.simulator
        if power.watts is not None:
            run.watts.append(power.watts)
        timings = dict(json.loads((out / TOLD).read_text(encoding="utf-8"))) if (out / TOLD).is_file() else {}
        times = tuple(timings.get("times_s", ()))[self.warmup :]
        if result.trouble is None and len(times) >= LEAST_STEPS:
            run.times.append(times)
            run.told.append(timings)
        else:
            run.outcome, run.why = _explain_end(result, len(times) + self.warmup, self.warmup + LEAST_STEPS)

    def _summarise_run(self, configuration: Configuration, run: _Run) -> Measured:
        """Make one configuration's result of what its runs brought."""
        name = configuration.name or "-"
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

    def _amount_per_step(self, run: _Run, what: str) -> float | None:
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
