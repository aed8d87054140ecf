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

from helpers import device as devices
from helpers.errors import WorkbookError
from helpers.launch import LaunchResult, LaunchSpec, Plugin, Progress, launch
from helpers.profiling.benchmark import answer, configurations, relative
from helpers.profiling.benchmark.configurations import Axis, Configuration
from helpers.profiling.benchmark.facts import FAILED, LEAST_STEPS, NOT_RUN, OUT_OF_MEMORY, Bench, Measured
from helpers.profiling.benchmark.memory import MEMORY
from helpers.profiling.benchmark.power import Power
from helpers.report import Report
from helpers.words import Scalar

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
    """Times `steps` training steps after `warmup` others, `repeats` times, for every combination of what is varied.

    sweep: arguments of the script (`batch-size=8,16,32`, `batch-size=8..1024` until out of memory, `amp`); loader:
    of its DataLoaders (`workers=0,2`, `pin_memory`, `prefetch_factor=2,4`); autocast: its model without and with
    bfloat16. samples, tokens: of one step, where its DataLoader does not tell them. baseline: an earlier benchmark's
    JSON. Raises WorkbookError where an option makes no sense or the device is not here.
    """
    for name, value, least in (("steps", steps, LEAST_STEPS), ("warmup", warmup, 1), ("repeats", repeats, 1)):
        if value < least:
            raise WorkbookError("profiling.too_few", name=name, value=value, least=least)
    varied = configurations.axes(sweep, loader, autocast)
    before = None if baseline is None else relative.load_baseline(baseline)
    found = devices.find(device, python=python)
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
    ).on(found)
    runs = _Runs(spec, found.accelerator, warmup, {"samples": samples, "tokens": tokens}, found, on_progress)
    measured = runs.all(varied, repeats)
    about = {"script": str(script), "args": list(args), "nproc": nproc, "steps": steps, "warmup": warmup}
    unit = "samples" if all(one.samples for one in measured if one.done) else "steps"
    if unit == "steps":
        measured = [answer.without_samples(one) for one in measured]
    hardware = {"tier": found.tier, "device": found.name, "count": found.count, "versions": found.versions}
    names = tuple(axis.name.lstrip("-") for axis in varied)
    facts = {**about, "kind": "training", "simulator": runs.simulator}
    return answer.report(Bench(tuple(measured), unit, hardware, names, repeats, before, runs.no_power, facts))


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
    accelerator: str
    warmup: int
    amounts: dict[str, float | None]
    found: devices.Device
    on_progress: Callable[[Progress], None] | None
    no_power: Scalar = None
    simulator: dict[str, Any] = field(default_factory=dict)

    def all(self, varied: list[Axis], repeats: int) -> list[Measured]:
        """Repeats go round all configurations, so that a machine that slows down slows all of them."""
        wanted = configurations.combinations(varied)
        runs = [_Run() for _ in wanted]
        doubling = next((axis.name.lstrip("-") for axis in varied if axis.doubling), "")
        for repeat in range(repeats):
            for at, one in enumerate(wanted):
                if not runs[at].outcome and not self._beyond(at, wanted, runs, doubling):
                    self._once(one, runs[at], f"{at}.{repeat}")
        return [self._measured(one, run) for one, run in zip(wanted, runs)]

    def _beyond(self, at: int, wanted: list[Configuration], runs: list[_Run], doubling: str) -> bool:
        """Whether a smaller one of a doubling axis already found no memory, or failed otherwise: both are told."""
        rest = {name: value for name, value in wanted[at].settings.items() if name != doubling}
        for earlier, run in zip(wanted[:at], runs):
            same = {name: value for name, value in earlier.settings.items() if name != doubling} == rest
            if doubling and same and run.outcome:
                runs[at].outcome = NOT_RUN
                key = "benchmark.beyond" if run.outcome == OUT_OF_MEMORY else "benchmark.beyond_failed"
                runs[at].why = {"say": key, "args": {"name": earlier.name}}
                return True
        return False

    def _once(self, one: Configuration, run: _Run, name: str) -> None:
        config = {"accelerator": self.accelerator, "loader": one.loader, "autocast": one.autocast}
        out, args = self.spec.out / "runs" / name, (*self.spec.args, *one.args)
        spec = replace(self.spec, out=out, args=args, plugins=[Plugin(PLUGIN, config)])
        (out / TOLD).unlink(missing_ok=True)
        with Power(self.found) as power:
            result = launch(spec, self.on_progress)
        self.no_power = power.why
        self.simulator = result.simulator or self.simulator
        if power.watts is not None:
            run.watts.append(power.watts)
        told = _told(spec.out)
        times = tuple(told.get("times_s", ()))[self.warmup :]
        if result.trouble is None and len(times) >= LEAST_STEPS:
            run.times.append(times)
            run.told.append(told)
        else:
            run.outcome, run.why = _ended(result, len(times) + self.warmup, self.warmup + LEAST_STEPS)

    def _measured(self, one: Configuration, run: _Run) -> Measured:
        name = one.name or "-"
        if run.outcome:
            return Measured(name, one.settings, run.outcome, run.why)
        samples, tokens = (self.amounts[what] or self._a_step(run, what) for what in ("samples", "tokens"))
        loading = tuple(time for told in run.told for time in told["loading_s"][self.warmup :])
        device, host = (_most(told[f"{where}_peak_mib"] for told in run.told) for where in ("device", "host"))
        watts = sum(run.watts) / len(run.watts) if run.watts else None
        seen = loading if any(loading) else ()
        return Measured(name, one.settings, runs_s=tuple(run.times), samples=samples, tokens=tokens, loading_s=seen,
                        device_peak_mib=device, host_peak_mib=host, power_w=watts)  # fmt: skip

    def _a_step(self, run: _Run, what: str) -> float | None:
        """Of all ranks, which load alike; the median step's."""
        counts = [count for told in run.told for count in told[what][self.warmup :]]
        return (median(counts) or 0) * self.spec.nproc or None


def _told(out: Path) -> dict[str, Any]:
    path = out / TOLD
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def _ended(result: LaunchResult, done: int, wanted: int) -> tuple[str, Scalar]:
    error = result.error
    said = f"{error.type}: {error.message}" if error else ""
    if MEMORY.search(said) or (error and not error.type and MEMORY.search("\n".join(error.traceback))):
        return OUT_OF_MEMORY, said.strip(": ")
    if result.trouble is not None:
        return FAILED, result.trouble
    return FAILED, {"say": "benchmark.few_steps", "args": {"done": max(0, done), "wanted": wanted}}


def _most(values: Any) -> float | None:
    return max((value for value in values if value is not None), default=None)
