"""Starts the child, follows it, and gathers what it left."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.launch.outcome import conclude
from helpers.launch.process import Child
from helpers.launch.result import LaunchResult, Progress
from helpers.launch.runlog import RunLog
from helpers.launch.spec import LaunchSpec

CHILD = Path(__file__).resolve().parent / "child"
POLL_S = 0.1


def launch(spec: LaunchSpec, on_progress: Callable[[Progress], None] | None = None) -> LaunchResult:
    """Runs the script to its end, to `spec.steps` or to `spec.timeout_s`, whichever comes first.

    A script that fails is a result (`result.trouble`), not an exception. Raises WorkbookError where the
    launch itself cannot be. KeyboardInterrupt ends the child and is raised on.
    """
    spec.check()
    spec_path = _prepare(spec)
    started = time.monotonic()
    child = Child(_command(spec, spec_path), _environment(spec), spec.cwd, spec.out / "output.log")
    try:
        timed_out = _follow(child, spec, on_progress)
    except BaseException:
        child.end()
        raise
    return conclude(spec, child.exit_code, timed_out, time.monotonic() - started)


def _prepare(spec: LaunchSpec) -> Path:
    """Makes the folder, removes logs of an earlier launch, writes launch.json."""
    spec.out.mkdir(parents=True, exist_ok=True)
    for stale in spec.out.glob("gpulog*.json*"):
        stale.unlink()
    path = spec.out.absolute() / "launch.json"
    aside = path.with_name("launch.json.part")
    aside.write_text(json.dumps(spec.for_child(), indent=1), encoding="utf-8")
    aside.replace(path)
    return path


def _command(spec: LaunchSpec, spec_path: Path) -> list[str]:
    observe = [str(CHILD / "observe.py"), str(spec_path)]
    if spec.nproc == 1:
        return [spec.python, *observe]
    # --standalone: a rendezvous of its own on a free port
    torchrun = [str(CHILD / "torchrun.py"), "--standalone", f"--nproc_per_node={spec.nproc}"]
    return [spec.python, *torchrun, *observe]


def _environment(spec: LaunchSpec) -> dict[str, str]:
    env = dict(os.environ if spec.env is None else spec.env)
    env["PYTHONUNBUFFERED"] = "1"  # its output is followed while it runs
    if spec.seed is not None:
        env["PYTHONHASHSEED"] = str(spec.seed % 2**32)
    if spec.deterministic:
        # https://docs.nvidia.com/cuda/cublas/#results-reproducibility
        env.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if spec.transform == "baseline_cpu":
        env["CUDA_VISIBLE_DEVICES"] = ""  # what slips past the stand-in must fail, not find a real GPU
        env["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    return env


def _follow(child: Child, spec: LaunchSpec, on_progress: Callable[[Progress], None] | None) -> bool:
    """Waits for the end, telling of new lines and steps. True where the time ran out."""
    deadline = None if spec.timeout_s is None else time.monotonic() + spec.timeout_s
    told = 0
    while True:
        ended = child.wait(POLL_S)
        lines = child.new_lines(last=ended)
        step, loss = _latest(spec.out)
        if on_progress is not None and (lines or step != told or ended):
            on_progress(Progress(step, spec.steps, loss, lines))
        told = step
        if ended:
            return False
        if deadline is not None and time.monotonic() > deadline:
            child.end()
            return True


def _latest(out: Path) -> tuple[int, float | None]:
    """Steps done and the last loss, as far as the child has written them."""
    for path in (out / "gpulog.json", out / "gpulog.spawned0.json"):
        try:
            steps = RunLog.load(path).steps
        except WorkbookError:
            continue  # not there yet
        if steps:
            return steps[-1].step, steps[-1].loss
    return 0, None
