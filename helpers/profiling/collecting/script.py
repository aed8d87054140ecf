"""`profile`: records some steps of any training script with the device's own profiler, and looks whether data came.

The script runs in a child, unmodified: on an NPU under torch_npu's transfer_to_npu, on CUDA as it is, and on
the CPU with CUDA mapped to it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from helpers import device as devices
from helpers.launch import LaunchResult, LaunchSpec, Plugin, Progress, launch
from helpers.profiling.collecting import account, folder
from helpers.profiling.collecting.options import Options, for_child, remarks
from helpers.report import Report
from helpers.words import say

PLUGIN = Path(__file__).parents[1] / "child" / "profiler_plugin.py"


def profile(
    script: str | os.PathLike[str],
    args: Sequence[str] = (),
    *,
    device: str = "auto",
    out: str | os.PathLike[str] = "profile",
    cwd: str | os.PathLike[str] | None = None,
    nproc: int = 1,
    timeout_s: float | None = None,
    python: str = sys.executable,
    on_progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Report:
    """Profiles training steps of the script into the folder `out`; `options` are those of Options.

    The report has a row per kind of data; `facts["profile"]` is the path to give to `analyse` (the first recorded
    rank's), `facts["overhead"]` the milliseconds of a step without and with the profiler. It FAILs where the script
    failed or where data that the device must give is absent. Raises WorkbookError where the device is not here or
    an option makes no sense.
    """
    plan = Options.of(options)
    plan.check_ranks(nproc)
    where = Path(out).absolute() / "data"
    folder.check(where)
    found = devices.find(device, python=python)
    said = remarks(plan, found)
    if said and on_progress:
        on_progress(Progress(0, plan.total, None, tuple(say(key, None, **args) for key, args in said)))
    spec = LaunchSpec(
        out=Path(out) / "launch",
        script=Path(script),
        args=tuple(args),
        cwd=None if cwd is None else Path(cwd),
        python=python,
        nproc=nproc,
        steps=plan.total,
        timeout_s=timeout_s,
        plugins=[Plugin(PLUGIN, for_child(plan, found.accelerator, str(where)))],
        grad_norm=False,  # its kernels are none of the script's
    ).on(found)
    record = {**folder.about(found, spec.env or os.environ), "script": str(script), "args": list(args), "nproc": nproc,
              "transform": spec.transform, "steps": plan.steps, "warmup": plan.warmup, "wait": plan.wait,
              "ranks": plan.recorded_ranks(nproc)}  # fmt: skip
    folder.begin(where, record)
    folder.clear(where)
    result = launch(spec, on_progress)
    folder.end(where, {**record, "simulator": result.simulator}, complete=result.trouble is None)
    return account.report(_recording(plan, found, where, result, nproc, said))


def _recording(
    plan: Options, found: devices.Device, where: Path, result: LaunchResult, nproc: int, said: list[Any]
) -> account.Recording:
    facts = {"losses": result.losses, "elapsed_s": round(result.elapsed_s, 1), "simulator": result.simulator}
    times = [step.time_s for step in result.steps]
    ranks = plan.recorded_ranks(nproc)
    return account.Recording(plan, found, where, ranks, times, nproc, result.trouble, tuple(said), facts)
