"""Runs an entry script small: on the CPU, and as it stands on the simulated NPU under transfer_to_npu."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import say
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, Plugin
from ascend_workbook.migration.dry_run.original import prepare_training
from ascend_workbook.migration.loop.verb import migrate
from ascend_workbook.planning.rehearsal import runs as rehearsed
from ascend_workbook.planning.rehearsal.stand_ins import configure, configure_hub, configure_pipelines, find_missing
from tools.migrations.samples import write_sample

#: Its function that launches is replaced: the launch gets the stand-ins for data.
sides: Any = import_module("ascend_workbook.migration.dry_run.sides")
DATA_ONLY, REACHED = Path(__file__).with_name("data_only.py"), Path(__file__).with_name("reached.py")
STEPS, SEED, LIMIT_S, MOST_FILES = 3, 1234, 120, 6
#: What torchrun tells a script that it starts alone; the launcher starts one process without it.
RANKS = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}
RANKS |= {"MASTER_PORT": "29517"}
CPU, NPU = "cpu", "npu-simulated"


def words_of(entry: dict[str, Any], folder: Path, out: Path) -> tuple[Path, list[str]]:
    """Write the entry's sample and return its clone and the words that start it."""
    root = (folder / entry["repository"]).absolute()
    data = out.absolute() / "data" / entry["repository"].replace("/", "+")
    write_sample(entry["repository"], root, data)
    words = [*shlex.split(entry["launch"]), str(root / entry["path"]), *shlex.split(entry["args"])]
    return root, [word.replace("{data}", str(data)) for word in words]


def make_plugins(missing: list[str]) -> list[Plugin]:
    """Return the plugins that stand in for data, models and trackers that are not here; for nothing of a device."""
    plugins = [Plugin(DATA_ONLY, {"stand_ins": str(rehearsed.STAND_INS)}, early=True)]
    plugins += [Plugin(file, early=True) for file in (rehearsed.LOGGERS, rehearsed.OLDER, rehearsed.GRAPHS)]
    plugins.append(Plugin(rehearsed.FILES, configure(missing), early=True))
    plugins.append(Plugin(rehearsed.PIPELINES, configure_pipelines(), early=True))
    return [*plugins, Plugin(rehearsed.HUB, configure_hub(False, missing), early=True)]


def run_script(entry: dict[str, Any], folder: Path, out: Path, tier: str, missing: list[str]) -> dict[str, Any]:
    """Run an entry for a few steps on a device and say what came of it; `missing` grows by what stood in."""
    root, words = words_of(entry, folder, out)
    name = entry["repository"].replace("/", "+")
    work = out.absolute() / name / tier
    started = time.monotonic()
    try:
        original = prepare_training(words[0], words[1:], 1)
        plan = sides.Plan(original, work, STEPS, SEED, sys.executable, float(LIMIT_S), draws="host")
        while True:
            plugins = make_plugins(missing)
            if tier == NPU:
                plugins.append(Plugin(REACHED, {"work": str(work / "baseline" / "work")}))
            result = launch_side(plan, tier, plugins, alone="torchrun" in entry["launch"] and original.nproc == 1)
            gap = None if result.ok else find_missing(result, work / "baseline")
            if gap is None or gap in missing or len(missing) >= MOST_FILES:
                break
            missing.append(gap)
    except WorkbookError as error:
        return {"outcome": "refused", "said": str(error)}
    finally:
        shutil.rmtree(work / "baseline" / "work", ignore_errors=True)
    base = original.layout.root.resolve().relative_to(root.resolve()).as_posix()
    ran = {**describe_result(result, work / "baseline" / "work"), "base": base}
    return ran | {"reached": load_reached(work / "baseline"), "seconds": round(time.monotonic() - started, 1)}


def read_caught(result: LaunchResult) -> list[str]:
    """Return the last traceback of a program that caught its error and ended without a step; nothing of others."""
    if result.ok or not result.output_path.is_file():
        return []
    text = result.output_path.read_text(encoding="utf-8", errors="replace")
    _, mark, rest = text.rpartition("Traceback (most recent call last)")
    return rest.splitlines() if mark else []


def load_reached(folder: Path) -> dict[str, list[int]]:
    """Return the lines of the program's own files that ran, over all processes."""
    lines: dict[str, set[int]] = {}
    for file in folder.glob("reached.rank*.json"):
        for name, numbers in json.loads(file.read_text(encoding="utf-8")).items():
            lines.setdefault(name, set()).update(numbers)
    return {name: sorted(numbers) for name, numbers in lines.items()}


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


def describe_result(result: LaunchResult, work: Path) -> dict[str, Any]:
    """Return what matters of a run: how it ended, losses, error, the program's own lines above it, what fell back."""
    error = result.error
    lines = list(error.traceback) if error else read_caught(result)
    text = "\n".join(lines)
    frames = [[name, int(line)] for name, line in re.findall(rf'File "{re.escape(str(work))}/(.+?)", line (\d+)', text)]
    return {
        "outcome": result.outcome,
        "ok": result.ok,
        "losses": result.losses,
        "said": str(result.trouble) if result.trouble else "",
        "error": error and {"type": error.type, "message": error.message[:600], "path": error.path, "line": error.line},
        "frames": frames,
        "traceback": lines[-30:],
        "devices": result.parameter_devices,
        "fallbacks": result.simulator.get("fallbacks", {}),
    }


def migrate_script(entry: dict[str, Any], folder: Path, out: Path, missing: list[str]) -> dict[str, Any]:
    """Let `migrate` make a copy of the repository that trains, without a hand, and say what came of it."""
    root, words = words_of(entry, folder, out)
    into = out.absolute() / entry["repository"].replace("/", "+") / "migrated"
    shutil.rmtree(into, ignore_errors=True)
    before = hash_files(root)
    ordinary: Callable[..., LaunchResult] = sides.launch

    def launch(spec: LaunchSpec, on_progress: Any = None) -> LaunchResult:
        return ordinary(replace(spec, plugins=[*make_plugins(missing), *spec.plugins]), on_progress)

    sides.launch = launch
    started = time.monotonic()
    try:
        report = migrate(words[0], words[1:], out=into, root=root, rounds=6, steps=STEPS, timeout_s=float(LIMIT_S))
    except WorkbookError as error:
        return {"verdict": "refused", "said": str(error), "seconds": round(time.monotonic() - started, 1)}
    finally:
        sides.launch = ordinary
    first = report.findings[0]
    commits = subprocess.run(
        ["git", "-C", str(into), "log", "--format=%s"], capture_output=True, text=True, check=False
    )
    return {
        "verdict": first.key,
        "said": say(first.key, "en", **first.args),
        "status": first.status.name,
        "findings": [finding.key for finding in report.findings],
        "commits": commits.stdout.splitlines(),
        "damaged": before != hash_files(root),
        "seconds": round(time.monotonic() - started, 1),
    }


def hash_files(root: Path) -> dict[str, str]:
    """Return the checksum of every file of a clone."""
    files = (file for file in sorted(root.rglob("*")) if file.is_file() and not file.is_symlink())
    return {file.relative_to(root).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
