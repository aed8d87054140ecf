"""`profile`: records some steps of any training script with the device's own profiler, and looks whether data came.

The script runs in a child, unmodified: on an NPU under torch_npu's transfer_to_npu, on CUDA as it is, and on
the CPU with CUDA mapped to it. The profilers swallow their errors, so what was recorded is counted afterwards.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import device as devices
from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.launch import LaunchResult, LaunchSpec, Plugin, Progress, launch
from helpers.profiling.facts import RECORD, Profile, load_profile
from helpers.report import Column, Report, Table
from helpers.storage import open_storage
from helpers.words import Scalar

PLUGIN = Path(__file__).parent / "child" / "profiler_plugin.py"
TRANSFORM = {"npu": "transfer_to_npu", "cuda": "none", "cpu": "baseline_cpu"}


@dataclass(frozen=True)
class Plan:
    """What to record: `warmup` steps that are thrown away, then `steps`; call stacks make traces large."""

    steps: int = 10
    warmup: int = 2
    shapes: bool = True
    memory: bool = True
    stack: bool = False


def profile(
    script: str | os.PathLike[str],
    args: Sequence[str] = (),
    *,
    device: str = "auto",
    steps: int = 10,
    warmup: int = 2,
    out: str | os.PathLike[str] = "profile",
    cwd: str | os.PathLike[str] | None = None,
    nproc: int = 1,
    stack: bool = False,
    timeout_s: float | None = None,
    python: str = sys.executable,
    on_progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Profiles `steps` training steps of the script after `warmup` others, into the folder `out`.

    The report has a row per kind of data; `facts["profile"]` is the path to give to `analyse` (rank 0's). It
    FAILs where the script failed or where data that the device must give is absent. Raises WorkbookError where
    the device is not here or the numbers make no sense.
    """
    plan = Plan(steps, warmup, stack=stack)
    folder = Path(out).absolute() / "data"
    _check(plan, folder)
    found = devices.find(device, python=python)
    _clear(folder)
    spec = LaunchSpec(
        out=Path(out) / "launch",
        script=Path(script),
        args=tuple(args),
        cwd=None if cwd is None else Path(cwd),
        python=python,
        nproc=nproc,
        env=devices.child_environment(found.tier),
        transform=TRANSFORM[found.accelerator],
        steps=steps + warmup,
        timeout_s=timeout_s,
        plugins=[Plugin(PLUGIN, _config(plan, found.accelerator, folder))],
        grad_norm=False,  # its kernels are none of the script's
        tier=found.tier,
        simulated=found.simulated,
    )
    result = launch(spec, on_progress)
    _record(folder, found, spec, plan, result)
    return _report(plan, found, folder, result, nproc)


def _check(plan: Plan, folder: Path) -> None:
    for name, value, least in (("steps", plan.steps, 1), ("warmup", plan.warmup, 1)):
        if value < least:
            raise WorkbookError("profiling.too_few", name=name, value=value, least=least)
    if folder.exists() and any(folder.iterdir()) and not (folder / RECORD).is_file():
        raise WorkbookError("profiling.not_ours", path=str(folder), record=RECORD)


def _clear(folder: Path) -> None:
    """Removes what an earlier call left there; the record marks the folder as ours from the beginning."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    open_storage(str(folder)).write_text(RECORD, "{}")


def _record(folder: Path, found: devices.Device, spec: LaunchSpec, plan: Plan, result: LaunchResult) -> None:
    """What `analyse` must know and no trace tells: above all whether the device was a real one."""
    device = {"tier": found.tier, "device": found.name, "versions": found.versions}
    ran = {"script": str(spec.script), "args": list(spec.args), "nproc": spec.nproc, "transform": spec.transform}
    content = {**device, **ran, "steps": plan.steps, "warmup": plan.warmup, "simulator": result.simulator}
    open_storage(str(folder)).write_text(RECORD, json.dumps(content, ensure_ascii=False, indent=1))


def _config(plan: Plan, accelerator: str, folder: Path) -> dict[str, Any]:
    what = {"shapes": plan.shapes, "memory": plan.memory, "stack": plan.stack}
    return {"accelerator": accelerator, "folder": str(folder), "warmup": plan.warmup, "steps": plan.steps, **what}


def _report(plan: Plan, found: devices.Device, folder: Path, result: LaunchResult, nproc: int) -> Report:
    facts: dict[str, Any] = {"folder": str(folder), "losses": result.losses, "elapsed_s": round(result.elapsed_s, 1),
                             "simulator": result.simulator}  # fmt: skip
    args: dict[str, Scalar] = {"steps": plan.steps, "warmup": plan.warmup, "done": len(result.steps)}
    if result.trouble is not None:
        failed = Finding("PRF300", Status.FAIL, "PRF300.script", {**args, "trouble": result.trouble}, weight=100)
        return Report("profiling", "profile", (failed,), facts=facts, tier=found.tier)
    try:
        path = rank_zero(folder, found.accelerator)
        profile = load_profile(path)
    except WorkbookError as nothing:
        why: Scalar = {"say": nothing.key, "args": nothing.arguments}
        failed = Finding("PRF300", Status.FAIL, "PRF300.nothing", {**args, "why": why}, weight=100)
        return Report("profiling", "profile", (failed,), facts=facts, tier=found.tier)
    rows = recorded(profile, plan, len(result.steps), nproc)
    columns = (Column("profiling_data"), Column("count"), Column("status"))
    table = Table(columns, tuple(({"say": f"profiling.data.{name}"}, count, state.name) for name, count, state in rows))
    findings = _findings(rows, plan, len(result.steps), profile)
    return Report("profiling", "profile", findings, table, facts={**facts, "profile": str(path)}, tier=found.tier)


def rank_zero(folder: Path, accelerator: str) -> Path:
    """The profile of rank 0 in a folder that `profile` filled."""
    if accelerator != "npu":
        return folder / "rank0.pt.trace.json"
    return next(iter(sorted(folder.glob("rank0_*_ascend_pt"))), folder)


def recorded(profile: Profile, plan: Plan, done: int, nproc: int) -> list[tuple[str, int, Status]]:
    """(kind of data, how much, whether that is right) for all that should have come; `done`: steps that ran."""
    trace = profile.trace
    steps = len(trace.steps) if trace.marked else 0
    missing = {"cpu": Status.OK, "npu-simulated": Status.WARN}.get(profile.tier, Status.FAIL)
    collectives = Status.OK if nproc == 1 or trace.count("communication") else missing
    return [
        ("steps", steps, Status.OK if steps == plan.steps and done >= plan.steps + plan.warmup else Status.FAIL),
        ("host", trace.count("host_op"), Status.OK if trace.count("host_op") else Status.FAIL),
        ("kernels", trace.count("compute"), Status.OK if trace.count("compute") else missing),
        ("collectives", trace.count("communication"), collectives),
        ("loading", trace.count("loading"), Status.OK if trace.count("loading") else Status.NOTE),
        ("shapes", int((trace.shape > 0).sum()), Status.OK if any(trace.shapes) else Status.WARN),
        ("memory", trace.memory_records, Status.OK if trace.memory_records else Status.WARN),
    ]


def _findings(
    rows: list[tuple[str, int, Status]], plan: Plan, done: int, profile: Profile
) -> tuple[Finding, ...]:
    found = [
        Finding("PRF300", state, f"PRF300.absent.{name}", {"done": done, "wanted": plan.steps + plan.warmup})
        for name, count, state in rows
        if state is not Status.OK
    ]
    came: list[Scalar] = [{"say": f"profiling.data.{name}"} for name, count, _ in rows if count]
    missing = [name for name, count, state in rows if state > Status.NOTE and not count]
    absent: list[Scalar] = [{"say": f"profiling.data.{name}"} for name in missing]
    args: dict[str, Scalar] = {"came": came, "absent": absent, "steps": len(profile.trace.steps), "wanted": plan.steps}
    worst = max((one.status for one in found), default=Status.OK)
    key = "PRF300.partly" if absent else "PRF300.came"
    return (Finding("PRF300", worst, key, args, weight=100), *found)
