"""Runs an entry script small: on the CPU, and as it stands on the simulated NPU under transfer_to_npu."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, Plugin
from ascend_workbook.migration.dry_run.original import prepare_training
from ascend_workbook.planning.rehearsal import runs as rehearsed
from ascend_workbook.planning.rehearsal.stand_ins import configure, configure_hub, configure_pipelines, find_missing
from tools.migrations.samples import write_sample

#: Its function that launches is replaced: the launch gets the stand-ins for data.
sides: Any = import_module("ascend_workbook.migration.dry_run.sides")
DATA_ONLY = Path(__file__).with_name("data_only.py")
STEPS, SEED, LIMIT_S, MOST_FILES = 3, 1234, 180, 6
#: What torchrun tells a script that it starts alone; the launcher starts one process without it.
RANKS = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}
RANKS |= {"MASTER_PORT": "29517"}
CPU, NPU = "cpu", "npu-simulated"


def words_of(entry: dict[str, Any], folder: Path, out: Path) -> tuple[Path, Path, list[str]]:
    """Write the entry's sample and return its clone, its folder of data and the words that start it."""
    root = (folder / entry["repository"]).absolute()
    data = out.absolute() / "data" / entry["repository"].replace("/", "+")
    write_sample(entry["repository"], root, data)
    words = [*shlex.split(entry["launch"]), str(root / entry["path"]), *shlex.split(entry["args"])]
    return root, data, [word.replace("{data}", str(data)) for word in words]


def make_plugins(missing: list[str]) -> list[Plugin]:
    """Return the plugins that stand in for data, models and trackers that are not here; for nothing of a device."""
    plugins = [Plugin(DATA_ONLY, {"stand_ins": str(rehearsed.STAND_INS)}, early=True)]
    plugins += [Plugin(file, early=True) for file in (rehearsed.LOGGERS, rehearsed.OLDER, rehearsed.GRAPHS)]
    plugins.append(Plugin(rehearsed.FILES, configure(missing), early=True))
    plugins.append(Plugin(rehearsed.PIPELINES, configure_pipelines(), early=True))
    return [*plugins, Plugin(rehearsed.HUB, configure_hub(False, missing), early=True)]


def run_script(entry: dict[str, Any], folder: Path, out: Path, tier: str, missing: list[str]) -> dict[str, Any]:
    """Run an entry for a few steps on a device and say what came of it; `missing` grows by what stood in."""
    _, _, words = words_of(entry, folder, out)
    name = entry["repository"].replace("/", "+")
    work = out.absolute() / name / tier
    started = time.monotonic()
    try:
        original = prepare_training(words[0], words[1:], 1)
        plan = sides.Plan(original, work, STEPS, SEED, sys.executable, float(LIMIT_S))
        while True:
            result = launch_side(
                plan, tier, make_plugins(missing), alone="torchrun" in entry["launch"] and original.nproc == 1
            )
            gap = None if result.ok else find_missing(result, work / "baseline")
            if gap is None or gap in missing or len(missing) >= MOST_FILES:
                break
            missing.append(gap)
    except WorkbookError as error:
        return {"outcome": "refused", "said": str(error)}
    finally:
        shutil.rmtree(work / "baseline" / "work", ignore_errors=True)
    return {**describe_result(result), "seconds": round(time.monotonic() - started, 1)}


def launch_side(plan: Any, tier: str, plugins: list[Plugin], *, alone: bool) -> LaunchResult:
    """Launch the script as it stands: on the NPU with transfer_to_npu, which is what people try first."""
    ordinary: Callable[..., LaunchResult] = sides.launch
    transform = "baseline_cpu" if tier == CPU else "transfer_to_npu"

    def launch(spec: LaunchSpec, on_progress: Any = None) -> LaunchResult:
        return ordinary(replace(spec, transform=transform), on_progress)

    sides.launch = launch
    try:
        environment = {"OMP_NUM_THREADS": "1", **(RANKS if alone else {})}
        result: LaunchResult = sides.run_side(
            plan, "baseline", devices.find(tier), None, plugins, environment=environment
        )
        return result
    finally:
        sides.launch = ordinary


def describe_result(result: LaunchResult) -> dict[str, Any]:
    """Return what matters of a run: how it ended, losses, error and place, what fell back."""
    error = result.error
    return {
        "outcome": result.outcome,
        "ok": result.ok,
        "losses": result.losses,
        "said": str(result.trouble) if result.trouble else "",
        "error": error and {"type": error.type, "message": error.message[:600], "path": error.path, "line": error.line},
        "traceback": list(error.traceback[-30:]) if error else [],
        "devices": result.parameter_devices,
        "fallbacks": result.simulator.get("fallbacks", {}),
    }
