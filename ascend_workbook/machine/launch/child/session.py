"""One training process from start to end: prepare, transform, observe, run the user's code, log."""

from __future__ import annotations

import contextlib
import json
import multiprocessing.util
import os
import platform
import sys
import time
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import collecting, program, reading, simulator
from .gpulog import GpuLog, find_values
from .program import StopTraining

if TYPE_CHECKING:
    from .observer import Observer

#: How a transform is told to the reader of gpulog.json.
STANDING_IN = {"baseline_cpu": "cpu standing in for cuda"}
PACKAGES = ("torch", "torch_npu", "numpy", "transformers", "accelerate")


def main(spec_path: str, args: list[str]) -> None:
    """Run the whole life of a process started by the launcher or by torchrun. Ends with the script's exit code.

    `args` are the script's; the spec has them as they may be shown.
    """
    spec = json.loads(Path(spec_path).read_text(encoding="utf-8"))
    rank, world_size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    name = "gpulog.json" if rank == 0 else f"gpulog.rank{rank}.json"
    secrets = find_values(args, spec["shown_args"], spec["secret_names"])
    log = GpuLog(Path(spec["out"], name), _describe_process(spec, rank, world_size), secrets)
    log.write(force=True)
    program.keep_out()
    reading.watch_reading()
    program.prepare_interpreter(spec["script"], spec["module"], args)
    observer, error = None, None
    try:
        observer = _make_observer(spec, log, rank, world_size)
        program.follow_spawned(spec_path)
        program.execute_script(spec["script"], spec["module"])
    except BaseException as caught:  # noqa: BLE001 - every way out is logged, then taken
        error = caught
    sys.exit(_end_run(log, observer, error))


def observe_spawned(spec_path: str) -> None:
    """Observe a process that the script's own multiprocessing spawned; its main module follows by itself."""
    spec = json.loads(Path(spec_path).read_text(encoding="utf-8"))
    program.keep_out()
    reading.watch_reading()
    rank = _Late(Path(spec["out"]))
    meta = _describe_process(spec, 0, 1)
    log = GpuLog(rank.unknown, {**meta, "spawned": True}, find_values([], [], spec["secret_names"]))
    early = [plugin for plugin in spec["plugins"] if plugin["early"]]
    observer = _make_observer({**spec, "plugins": early}, log, 0, 1)
    program.follow_spawned(spec_path)

    def start_training() -> None:
        from .observer import attach_plugins

        rank.settle_log(observer)
        attach_plugins(observer, [plugin for plugin in spec["plugins"] if not plugin["early"]])

    # A spawned process may be a mere DataLoader worker; one that makes an optimiser trains
    observer.known.at_first = start_training
    observer.on_step(lambda step: rank.settle_log(observer))
    multiprocessing.util.Finalize(None, lambda: _end_spawned(log, observer), exitpriority=100)


class _Late:
    """Names the log of a spawned process by its rank, known only once it has joined its process group."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.unknown = out / f"gpulog.spawned-{os.getpid()}.json"

    def settle_log(self, observer: Observer) -> None:
        import torch.distributed as dist

        if observer.log.path != self.unknown or not (dist.is_available() and dist.is_initialized()):
            return
        observer.rank, observer.world_size = dist.get_rank(), dist.get_world_size()
        observer.log.content["meta"].update(rank=observer.rank, world_size=observer.world_size)
        observer.log.path = self.out / f"gpulog.spawned{observer.rank}.json"
        observer.log.write(force=True)
        self.unknown.unlink(missing_ok=True)  # written only if a step came before the group


def _make_observer(spec: dict[str, Any], log: GpuLog, rank: int, world_size: int) -> Observer:
    """Import, transform and hook torch, and return the observer."""
    with collecting.importing():
        import torch

        transform = spec["transform"]
        if transform == "baseline_cpu":
            from .baseline import install_baseline

            install_baseline(log.add_note)
        elif transform == "transfer_to_npu":
            import torch_npu  # noqa: F401
            from torch_npu.contrib import transfer_to_npu  # noqa: F401
        elif transform != "none":
            raise ValueError(f"unknown transform {transform!r}")
        if spec["draws"] != "device" or spec["rm_dropout"]:
            from .draws import install_draws

            install_draws(spec["draws"], spec["rm_dropout"], log.add_note)
            if transform == "baseline_cpu" and spec["draws"] == "host":
                from .baseline.random import join_streams

                join_streams()
        from . import hooks
        from .observer import Observer, attach_plugins

    wanted = spec["grad_norm"], spec["counts_only"]
    observer = Observer(log, Path(spec["out"]), spec["steps"], rank, world_size, *wanted)
    hooks.install_hooks(observer)
    hooks.force_seed(spec["seed"], spec["deterministic"])
    hooks.watch_seeding(log.content["meta"]["seeds"])
    attach_plugins(observer, spec["plugins"])
    owner = os.getpid()
    os.register_at_fork(after_in_child=lambda: setattr(observer, "active", os.getpid() == owner))
    log.content["meta"]["versions"]["torch"] = torch.__version__
    return observer


def _end_run(log: GpuLog, observer: Observer | None, error: BaseException | None) -> int:
    """Log how the run ended, print a traceback as Python would, and return the exit code."""
    status, code, described = _judge_outcome(observer, error)
    _note_simulator(log)
    _leave_process_group(status)
    try:
        log.finish_log(status, described) if observer is None else observer.finish(status, described)
    except Exception as failure:  # noqa: BLE001 - a plugin's error at the end is the run's error
        traceback.print_exception(type(failure), failure, failure.__traceback__)
        log.finish_log("failed", program.describe_error(failure))
        return 1
    return code


def _judge_outcome(observer: Observer | None, error: BaseException | None) -> tuple[str, int, dict[str, object] | None]:
    stopped = observer is not None and observer.stopped and (error is None or isinstance(error, SystemExit))
    if stopped or isinstance(error, StopTraining):
        return "stopped_after", 0, None
    if error is None:
        return "finished", 0, None
    if isinstance(error, SystemExit):  # what the interpreter makes of it: None is 0, an integer the code, else printed
        if error.code is None or error.code == 0:
            return "finished", 0, None
        if isinstance(error.code, int):
            # `except Exception: ...; sys.exit(1)`, as torch.multiprocessing does: the exception is what went wrong
            cause = error.__context__ if isinstance(error.__context__, Exception) else error
            return "failed", error.code & 0xFF, program.describe_error(cause)
        print(error.code, file=sys.stderr)
        return "failed", 1, program.describe_error(error)
    shown = error.with_traceback(program.user_part(error.__traceback__))
    traceback.print_exception(type(shown), shown, shown.__traceback__)
    return "failed", 130 if isinstance(error, KeyboardInterrupt) else 1, program.describe_error(error)


def _leave_process_group(status: str) -> None:
    """Destroy the group for a stopped script, which did not get to it: some backends hang at exit otherwise."""
    torch = sys.modules.get("torch")
    if status != "stopped_after" or torch is None or not torch.distributed.is_available():
        return
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _end_spawned(log: GpuLog, observer: Observer) -> None:
    """End a spawned process; one without any step (a DataLoader worker, say) leaves no log."""
    error = sys.exc_info()[1]
    status, _, described = _judge_outcome(observer, error if isinstance(error, SystemExit) else None)
    if isinstance(error, Exception):
        status, described = "failed", program.describe_error(error)
    if log.steps_done or described:
        _note_simulator(log)
        _leave_process_group(status)
        observer.finish(status, described)


def _note_simulator(log: GpuLog) -> None:
    if log.content["meta"]["simulated"]:
        log.content["meta"]["simulator"] = simulator.describe_simulator()


def _describe_process(spec: dict[str, Any], rank: int, world_size: int) -> dict[str, Any]:
    target = [spec["script"]] if spec["script"] else ["-m", spec["module"]]
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            versions[package] = version(package)
    return {
        "argv": [*target, *spec["shown_args"]],
        "cwd": str(Path.cwd()),
        "python": sys.executable,
        "versions": versions,
        "tier": spec["tier"],
        "simulated": spec["simulated"],
        "simulator": simulator.requested_settings() if spec["simulated"] else None,
        "transform": spec["transform"],
        "standing_in": STANDING_IN.get(spec["transform"]),
        "seeds": [],
        "forced_seed": spec["seed"],
        "rank": rank,
        "world_size": world_size,
        "pid": os.getpid(),
        "parameter_devices": [],
        "steps_wanted": spec["steps"],
        "started_at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
