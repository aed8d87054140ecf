"""Dumps the tensors of an unmodified training script through the real msprobe, in a child process.

msprobe's PrecisionDebugger is a process singleton and wraps torch's functions, so it never runs in the caller.
On an NPU the script runs under transfer_to_npu; on a CPU the CPU stands in for CUDA.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from helpers import device as devices
from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.launch import LaunchResult, LaunchSpec, Plugin, Progress, launch
from helpers.precision import manifest
from helpers.precision.layouts import read_dump
from helpers.precision.options import FINGERPRINTS, MIB, Options, room
from helpers.precision.record import Run
from helpers.report import Column, Report, Table
from helpers.settings.child import settings as settings_reader
from helpers.words import Scalar

PLUGIN = Path(__file__).parent / "child" / "capture_plugin.py"
SETTINGS = Path(settings_reader.__file__)
TRANSFORMS = {"npu": "transfer_to_npu", "npu-simulated": "transfer_to_npu", "cuda": "none", "cpu": "baseline_cpu"}
#: msprobe refuses every other character in a path (FileCheckException).
PLAIN_PATH = re.compile(r"[A-Za-z0-9_/.-]+")
OVER_LIMIT = 87


def capture(
    script: str | Path,
    args: Sequence[str] = (),
    *,
    out: str | Path,
    device: str = "auto",
    steps: int = 1,
    dump_steps: Sequence[int] = (0,),
    level: str = "L1",
    task: str = "tensor",
    seed: int = 1234,
    limit_mib: int = 2048,
    settings: Mapping[str, str] | None = None,
    nproc: int = 1,
    cwd: str | Path | None = None,
    python: str = sys.executable,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Trains `steps` steps and dumps those of `dump_steps` (counted from 0) into `out`.

    `device` is auto, npu, npu-simulated, cuda, cpu, or `baseline` (CUDA if present, else the CPU in its place).
    `settings` are environment variables of the child, out of options.SETTINGS.
    The capture ends with capture.json, which lists every file with its SHA-256; one without it, or whose
    `complete` is false, was killed. Raises WorkbookError where it cannot run or would write more than `limit_mib`.
    """
    options = Options(Path(script), tuple(map(str, args)), steps, tuple(dump_steps), level, task, seed, limit_mib,
                      dict(settings or {}), nproc)  # fmt: skip
    options.check()
    found = devices.baseline(python=python) if device == "baseline" else devices.find(device, python=python)
    options.check_tier(found.tier)
    folder = Path(out).absolute()
    _clear(folder)
    room(folder, limit_mib, found.tier, progress)
    environment = {**devices.child_environment(found.tier), "MSPROBE_LOG_LEVEL": "4", **options.settings}
    about = options.about(found, environment)
    manifest.Manifest(folder, False, about).save()
    with _dump_folder(folder) as dump:
        result = launch(LaunchSpec(
            out=folder, script=options.script, args=options.args, cwd=Path(cwd) if cwd else None, python=python,
            nproc=nproc, env=environment, transform=TRANSFORMS[found.tier], steps=steps, seed=seed,
            deterministic=True, plugins=[_plugin(dump, options, found.tier)], tier=found.tier,
            simulated=found.simulated,
        ), _teller(progress, found.tier))  # fmt: skip
    return _report(folder, about, result)


@contextmanager
def _dump_folder(folder: Path) -> Iterator[Path]:
    """Where msprobe writes: below the folder, or aside and then moved where msprobe would refuse the path."""
    wanted = folder / manifest.DUMP
    if PLAIN_PATH.fullmatch(str(wanted)):
        yield wanted
        return
    with tempfile.TemporaryDirectory(prefix="capture-") as aside:
        dump = Path(aside).resolve() / manifest.DUMP
        yield dump
        if dump.is_dir():
            shutil.move(str(dump), str(wanted))


def _clear(folder: Path) -> None:
    """Removes what an earlier capture left here, and nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / manifest.DUMP, ignore_errors=True)
    for stale in (*folder.glob("side.rank*.json"), folder / "over_limit.json", folder / manifest.NAME):
        stale.unlink(missing_ok=True)


def _plugin(dump: Path, options: Options, tier: str) -> Plugin:
    own: dict[str, Any] = {"scope": [], "list": [], "data_mode": ["all"]}
    if options.task == "statistics":
        own["summary_mode"] = "statistics"
    config = {"task": options.task, "dump_path": str(dump), "rank": [], "step": [], "level": options.level,
              options.task: own}  # fmt: skip
    path = dump.parent / "msprobe.json"
    path.write_text(json.dumps(config, indent=1), encoding="utf-8")
    return Plugin(PLUGIN, {
        "config_path": str(path), "dump_path": str(dump), "iterations": list(options.dump_steps),
        "dumps": options.task != FINGERPRINTS,
        "limit_bytes": options.limit_mib * MIB, "block_torch_npu": not tier.startswith("npu"),
        "settings_path": str(SETTINGS),
    })  # fmt: skip


def _teller(progress: Callable[[str], None] | None, tier: str) -> Callable[[Progress], None] | None:
    if progress is None:
        return None
    last = [-1]

    def tell(state: Progress) -> None:
        if state.step != last[0]:
            last[0] = state.step
            progress(f"{tier}: step {state.step}/{state.steps}")

    return tell


def _report(folder: Path, about: dict[str, Any], result: LaunchResult) -> Report:
    if result.exit_code == OVER_LIMIT and (folder / "over_limit.json").is_file():
        wrote = json.loads((folder / "over_limit.json").read_text(encoding="utf-8"))["bytes"] // MIB
        raise WorkbookError("precision.over_limit", limit_mib=about["limit_mib"], wrote_mib=wrote, path=str(folder))
    if result.trouble is not None:
        raise WorkbookError("precision.capture_failed", tier=about["tier"], trouble=result.trouble,
                            path=str(result.output_path))  # fmt: skip
    _check_fault_struck(result.output_path)
    runs = [] if about["task"] == FINGERPRINTS else read_dump(folder / manifest.DUMP)
    sides = {path.stem.partition(".")[2]: json.loads(path.read_text(encoding="utf-8"))
             for path in sorted(folder.glob("side.rank*.json"))}  # fmt: skip
    missing = [rank for rank in range(about["nproc"]) if f"rank{rank}" not in sides]
    if missing:
        raise WorkbookError("precision.rank_missing", ranks=missing, path=str(folder))
    wanted, recorded = set(about["dump_steps"]), {run.step for run in runs}
    if about["task"] == FINGERPRINTS:
        recorded = {step for side in sides.values() for step in side["iterations"]}
    if wanted - recorded:
        raise WorkbookError("precision.steps_missing", missing=sorted(wanted - recorded), recorded=sorted(recorded))
    about = {**about, "parameter_devices": result.parameter_devices, "simulator": result.simulator}
    written = manifest.Manifest(folder, True, about, manifest.listing(folder), sides)
    written.save()
    return _success(written, runs, result)


def _check_fault_struck(output: Path) -> None:
    """The simulator says at its end when a fault's call never came."""
    lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
    missed = next((line for line in lines if "NPU simulator: the fault" in line and "never struck" in line), None)
    if missed:
        raise WorkbookError("precision.fault_never_struck", message=missed.partition(": ")[2])


def _success(written: manifest.Manifest, runs: list[Run], result: LaunchResult) -> Report:
    columns = (Column("step"), Column("rank"), Column("operators"), Column("tensors"), Column("size", "MiB"))
    rows = tuple(_row(written, run) for run in runs)
    size = _bytes(written, manifest.DUMP) / MIB
    args: dict[str, Scalar] = {"operators": sum(len(run.operators) for run in runs), "size_mib": round(size, 1),
                               "steps": len(written.about["dump_steps"]), "tier": written.tier}  # fmt: skip
    key = "ACC200.fingerprints" if written.about["task"] == FINGERPRINTS else "ACC200.captured"
    facts = {"folder": str(written.folder), **written.about, "losses": list(result.losses),
             "standing_in": result.standing_in, "numerics": written.numerics}  # fmt: skip
    return Report("precision", "capture", (Finding("ACC200", Status.OK, key, args, weight=100),),
                  Table(columns, rows), facts=facts, tier=written.tier)  # fmt: skip


def _row(written: manifest.Manifest, run: Run) -> tuple[Scalar, ...]:
    size = _bytes(written, run.folder.relative_to(written.folder).as_posix()) / MIB
    tensors = sum(len(op.inputs) + len(op.outputs) for op in run.operators)
    return run.step, run.rank, len(run.operators), tensors, round(size, 1)


def _bytes(written: manifest.Manifest, prefix: str) -> int:
    """Of what was recorded; stack.json is left out, its size depends on where Python lies."""
    files = written.files.items()
    return sum(told["bytes"] for name, told in files if name.startswith(f"{prefix}/") and "stack.json" not in name)
