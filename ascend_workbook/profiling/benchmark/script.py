"""An unmodified script, once for each configuration and repeat, or in trials beside the script as it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.launch import LaunchSpec, Progress
from ascend_workbook.profiling.benchmark import answer, configurations
from ascend_workbook.profiling.benchmark.facts import LEAST_STEPS, Bench, describe_hardware, load_baseline
from ascend_workbook.profiling.benchmark.presets import trials_of_presets
from ascend_workbook.profiling.benchmark.runs import Runs
from ascend_workbook.profiling.benchmark.trials import run_trials, trials_of_axes

#: Of a trial's runs, so that their losses can be held against one another
SEED = 20260101


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
    env: Sequence[str] = (),
    arg: Sequence[str] = (),
    preset: Sequence[str] = (),
    rounds: int = 12,
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
    env: variables (`TASK_QUEUE_ENABLE=1,2`), preset: settings by name (presets.PRESETS, `all`), arg: the same as sweep;
    with one of these three it is a trial: every setting beside the script as it is, a run each in turn, until each is
    decided or after `rounds` rounds.
    samples, tokens: of one step, where its DataLoader does not tell them. baseline: an earlier benchmark's JSON. Raises
    WorkbookError where an option makes no sense or the device is not here."""
    counts = {"steps": (steps, LEAST_STEPS), "warmup": (warmup, 1), "repeats": (repeats, 1), "rounds": (rounds, 3)}
    for name, (value, least) in counts.items():
        if value < least:
            raise WorkbookError("profiling.too_few", name=name, value=value, least=least)
    varied = configurations.parse_axes([*sweep, *arg], loader, autocast, env)
    trial = bool(env or arg or preset)
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
        seed=SEED if trial else None,
        grad_norm=False,
    ).on(chosen_device)
    runs = Runs(spec, warmup, {"samples": samples, "tokens": tokens}, chosen_device, on_progress)
    if trial:
        trials = trials_of_axes(varied, chosen_device, nproc)
        trials += trials_of_presets([name for text in preset for name in text.split(",")], chosen_device, nproc)
        measured = run_trials(runs, trials, rounds)
        repeats = max((row.tried.rounds for row in measured if row.tried), default=1)
    else:
        measured = runs.run_all(varied, repeats)
    about = {"script": str(script), "args": list(args), "nproc": nproc, "steps": steps, "warmup": warmup}
    unit = "samples" if all(configuration.samples for configuration in measured if configuration.done) else "steps"
    if unit == "steps":  # where one does not tell its samples, steps are counted in all of them
        measured = [replace(configuration, samples=None) for configuration in measured]
    hardware = describe_hardware(chosen_device)
    names = tuple(axis.name.lstrip("-") for axis in varied)
    facts = {**about, "kind": "training", "simulator": runs.simulator, "interrupted": runs.interrupted}
    bench = Bench(tuple(measured), unit, hardware, names, repeats, before, runs.no_power, facts, trial)
    return answer.report_benchmark(bench)
