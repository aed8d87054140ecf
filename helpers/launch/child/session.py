"""One training process from start to end: prepare, transform, observe, run the user's code, log."""

from __future__ import annotations

import json
import multiprocessing.util
import os
import platform
import sys
import time
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from . import collecting, isolation, program, reading, simulator, transforms
from .gpulog import GpuLog
from .stop import StopTraining

PACKAGES = ("torch", "torch_npu", "numpy", "transformers", "accelerate")


def main(spec_path: str) -> None:
    """The whole life of a process started by the launcher or by torchrun. Ends with the script's exit code."""
    spec = _read(spec_path)
    rank, world_size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    log = GpuLog(Path(spec["out"]) / log_name(rank), _meta(spec, rank, world_size))
    log.write(force=True)
    isolation.keep_out()
    reading.watch()
    program.prepare(spec["script"], spec["module"], spec["args"])
    observer, error = None, None
    try:
        observer = _observed(spec, log, rank, world_size)
        isolation.follow_spawned(spec_path)
        program.execute(spec["script"], spec["module"])
    except BaseException as caught:  # noqa: BLE001 - every way out is logged, then taken
        error = caught
    sys.exit(_end(log, observer, error))


def spawned(spec_path: str) -> None:
    """The same for a process that the script's own multiprocessing spawned; its main module follows by itself."""
    spec = _read(spec_path)
    isolation.keep_out()
    reading.watch()
    rank = _Late(Path(spec["out"]))
    meta = _meta(spec, 0, 1)
    log = GpuLog(rank.unknown, {**meta, "spawned": True})
    observer = _observed({**spec, "plugins": []}, log, 0, 1)
    isolation.follow_spawned(spec_path)

    def trains() -> None:
        from . import plugins

        rank.settle(observer)
        plugins.attach(observer, spec["plugins"])

    # A spawned process may be a mere DataLoader worker; one that makes an optimiser trains
    observer.known.at_first = trains
    observer.on_step(lambda step: rank.settle(observer))
    multiprocessing.util.Finalize(None, lambda: _end_spawned(log, observer), exitpriority=100)


def log_name(rank: int) -> str:
    """`gpulog.json` for rank 0, `gpulog.rank1.json` and so on."""
    return "gpulog.json" if rank == 0 else f"gpulog.rank{rank}.json"


class _Late:
    """Names the log of a spawned process by its rank, known only once it has joined its process group."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.unknown = out / f"gpulog.spawned-{os.getpid()}.json"

    def settle(self, observer: Any) -> None:
        import torch.distributed as dist

        if observer.log.path != self.unknown or not (dist.is_available() and dist.is_initialized()):
            return
        observer.rank, observer.world_size = dist.get_rank(), dist.get_world_size()
        observer.log.content["meta"].update(rank=observer.rank, world_size=observer.world_size)
        observer.log.path = self.out / f"gpulog.spawned{observer.rank}.json"
        observer.log.write(force=True)
        self.unknown.unlink(missing_ok=True)  # written only if a step came before the group


def _observed(spec: dict[str, Any], log: GpuLog, rank: int, world_size: int) -> Any:
    """torch, imported, transformed, hooked; returns the observer."""
    with collecting.importing():
        import torch

        transforms.apply(spec["transform"], log.note)
        from . import hooks, plugins, seeds
        from .observer import Observer

    observer = Observer(log, Path(spec["out"]), spec["steps"], rank, world_size, spec["grad_norm"])
    hooks.install(observer)
    seeds.force(spec["seed"], spec["deterministic"])
    seeds.watch(log.content["meta"]["seeds"])
    plugins.attach(observer, spec["plugins"])
    owner = os.getpid()
    os.register_at_fork(after_in_child=lambda: setattr(observer, "active", os.getpid() == owner))
    log.content["meta"]["versions"]["torch"] = torch.__version__
    return observer


def _end(log: GpuLog, observer: Any, error: BaseException | None) -> int:
    """Logs how it ended, prints a traceback as Python would, returns the exit code."""
    status, code, described = _outcome(observer, error)
    _note_simulator(log)
    _leave_process_group(status)
    try:
        log.finish(status, described) if observer is None else observer.finish(status, described)
    except Exception as failure:  # noqa: BLE001 - a plugin's error at the end is the run's error
        traceback.print_exception(type(failure), failure, failure.__traceback__)
        log.finish("failed", program.describe(failure))
        return 1
    return code


def _outcome(observer: Any, error: BaseException | None) -> tuple[str, int, dict[str, Any] | None]:
    stopped = observer is not None and observer.stopped and (error is None or isinstance(error, SystemExit))
    if stopped or isinstance(error, StopTraining):
        return "stopped_after", 0, None
    if error is None:
        return "finished", 0, None
    if isinstance(error, SystemExit):
        return _exit_outcome(error)
    shown = error.with_traceback(program.user_part(error.__traceback__))
    traceback.print_exception(type(shown), shown, shown.__traceback__)
    return "failed", 130 if isinstance(error, KeyboardInterrupt) else 1, program.describe(error)


def _exit_outcome(error: SystemExit) -> tuple[str, int, dict[str, Any] | None]:
    """As the interpreter: None is 0, an integer is the code, anything else is printed and 1."""
    if error.code is None or error.code == 0:
        return "finished", 0, None
    if isinstance(error.code, int):
        # `except Exception: ...; sys.exit(1)`, as torch.multiprocessing does: the exception is what went wrong
        cause = error.__context__ if isinstance(error.__context__, Exception) else error
        return "failed", error.code & 0xFF, program.describe(cause)
    print(error.code, file=sys.stderr)
    return "failed", 1, program.describe(error)


def _leave_process_group(status: str) -> None:
    """A stopped script did not reach its own `destroy_process_group`; without it some backends hang at exit."""
    torch = sys.modules.get("torch")
    if status != "stopped_after" or torch is None or not torch.distributed.is_available():
        return
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _end_spawned(log: GpuLog, observer: Any) -> None:
    """A spawned process without any step (a DataLoader worker, say) leaves no log."""
    error = sys.exc_info()[1]
    status, _, described = _outcome(observer, error if isinstance(error, SystemExit) else None)
    if isinstance(error, Exception):
        status, described = "failed", program.describe(error)
    if log.steps or described:
        _note_simulator(log)
        _leave_process_group(status)
        observer.finish(status, described)


def _note_simulator(log: GpuLog) -> None:
    if log.content["meta"]["simulated"]:
        log.content["meta"]["simulator"] = simulator.found()


def _read(path: str) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return spec


def _meta(spec: dict[str, Any], rank: int, world_size: int) -> dict[str, Any]:
    target = [spec["script"]] if spec["script"] else ["-m", spec["module"]]
    return {
        "argv": [*target, *spec["args"]],
        "cwd": str(Path.cwd()),
        "python": sys.executable,
        "versions": {"python": platform.python_version(), **_versions()},
        "tier": spec["tier"],
        "simulated": spec["simulated"],
        "simulator": simulator.told() if spec["simulated"] else None,
        "transform": spec["transform"],
        "standing_in": transforms.STANDING_IN.get(spec["transform"]),
        "seeds": [],
        "forced_seed": spec["seed"],
        "rank": rank,
        "world_size": world_size,
        "pid": os.getpid(),
        "parameter_devices": [],
        "steps_wanted": spec["steps"],
        "started_at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue  # not installed: not listed
    return found
