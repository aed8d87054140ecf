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

from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import say
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, Plugin, Progress, launch
from ascend_workbook.profiling.collecting import account, folder
from ascend_workbook.profiling.collecting.options import Options, for_child, list_remarks

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
    """Profile training steps of the script into the folder `out`; `options` are those of Options.

    The report has a row per kind of data; `facts["profile"]` is the path to give to `analyse` (the first recorded
    rank's), `facts["overhead"]` the milliseconds of a step without and with the profiler. It FAILs where the script
    failed or where data that the device must give is absent. Raises WorkbookError where the device is not here or
    an option makes no sense.
    """
    plan = Options.from_mapping(options)
    plan.check_ranks(nproc)
    where = Path(out).absolute() / "data"
    folder.check(where)
    chosen_device = devices.find(device, python=python)
    notes = list_remarks(plan, chosen_device)
    if notes and on_progress:
        on_progress(Progress(0, plan.total, None, tuple(say(key, None, **args) for key, args in notes)))
    spec = LaunchSpec(
        out=Path(out) / "launch",
        script=Path(script),
        args=tuple(args),
        cwd=None if cwd is None else Path(cwd),
        python=python,
        nproc=nproc,
        steps=plan.total,
        timeout_s=timeout_s,
        plugins=[Plugin(PLUGIN, for_child(plan, chosen_device.accelerator, str(where)))],
        grad_norm=False,  # its kernels are none of the script's
    ).on(chosen_device)
    record = {
        **folder.describe_run(chosen_device, spec.env or os.environ),
        "script": str(script),
        "args": list(args),
        "nproc": nproc,
        "transform": spec.transform,
        "steps": plan.steps,
        "warmup": plan.warmup,
        "wait": plan.wait,
        "ranks": plan.recorded_ranks(nproc),
    }
    folder.begin_record(where, record)
    folder.clear_recording(where)
    result = launch(spec, on_progress)
    folder.end_record(where, {**record, "simulator": result.simulator}, complete=result.trouble is None)
    return account.report_recording(_make_recording(plan, chosen_device, where, result, nproc, notes))


def _make_recording(
    plan: Options, device: devices.Device, where: Path, result: LaunchResult, nproc: int, notes: list[Any]
) -> account.Recording:
    """Make the account's Recording of what the launch brought."""
    facts = {"losses": result.losses, "elapsed_s": round(result.elapsed_s, 1), "simulator": result.simulator}
    times = [step.time_s for step in result.steps]
    ranks = plan.recorded_ranks(nproc)
    return account.Recording(plan, device, where, ranks, times, nproc, result.trouble, tuple(notes), facts)
