"""Starts the child, follows it, and gathers what it left."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.launch.outcome import conclude_launch
from ascend_workbook.machine.launch.process import Child
from ascend_workbook.machine.launch.result import LaunchResult, Progress
from ascend_workbook.machine.launch.runlog import RunLog
from ascend_workbook.machine.launch.spec import LaunchSpec

CHILD = Path(__file__).resolve().parent / "child"
POLL_S = 0.1


def launch(spec: LaunchSpec, on_progress: Callable[[Progress], None] | None = None) -> LaunchResult:
    """Run the script to its end, to `spec.steps` or to `spec.timeout_s`, whichever comes first.

    A script that fails is a result (`result.trouble`), not an exception. Raises WorkbookError where the
    launch itself cannot be. KeyboardInterrupt ends the child and is raised on.
    """
    spec.check_fields()
    spec_path = _prepare_folder(spec)
    started = time.monotonic()
    child = Child(_make_command(spec, spec_path), _make_environment(spec), spec.cwd, spec.out / "output.log")
    try:
        timed_out = _follow_child(child, spec, on_progress)
    except BaseException:
        child.end_group()
        raise
    return conclude_launch(spec, child.exit_code, timed_out, time.monotonic() - started)


def _prepare_folder(spec: LaunchSpec) -> Path:
    """Make the folder, remove logs of an earlier launch and write launch.json."""
    spec.out.mkdir(parents=True, exist_ok=True)
    for stale in spec.out.glob("gpulog*.json*"):
        stale.unlink()
    path = spec.out.absolute() / "launch.json"
    aside = path.with_name("launch.json.part")
    aside.write_text(json.dumps(spec.for_child(), indent=1), encoding="utf-8")
    aside.replace(path)
    return path


def _make_command(spec: LaunchSpec, spec_path: Path) -> list[str]:
    observe = [str(CHILD / "observe.py"), str(spec_path)]
    if spec.nproc == 1:
        return [spec.python, *observe]
    # --standalone: a rendezvous of its own on a free port
    torchrun = [str(CHILD / "torchrun.py"), "--standalone", f"--nproc_per_node={spec.nproc}"]
    return [spec.python, *torchrun, *observe]


def _make_environment(spec: LaunchSpec) -> dict[str, str]:
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


def _follow_child(child: Child, spec: LaunchSpec, on_progress: Callable[[Progress], None] | None) -> bool:
    """Wait for the child's end, telling of new lines and steps, and return whether the time ran out. True where the
    time ran out.
    """
    deadline = None if spec.timeout_s is None else time.monotonic() + spec.timeout_s
    reported_step = 0
    while True:
        ended = child.wait_for_end(POLL_S)
        lines = child.new_lines(last=ended)
        step, loss = _read_progress(spec.out)
        if on_progress is not None and (lines or step != reported_step or ended):
            on_progress(Progress(step, spec.steps, loss, lines))
        reported_step = step
        if ended:
            return False
        if deadline is not None and time.monotonic() > deadline:
            child.end_group()
            return True


def _read_progress(out: Path) -> tuple[int, float | None]:
    """Return steps done and the last loss, as far as the child has written them."""
    for path in (out / "gpulog.json", out / "gpulog.spawned0.json"):
        try:
            steps = RunLog.load_log(path).steps
        except WorkbookError:
            continue  # not there yet
        if steps:
            return steps[-1].step, steps[-1].loss
    return 0, None
