"""Runs a student's script as a process of its own, with a time limit, and holds what it did against the original.

Losses are those that backward began from, as the launcher saw them: what a script prints is not believed.
"""

from __future__ import annotations

import math
import os
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, Plugin, launch
from ascend_workbook.machine.launch.spec import TRANSFORM_TO
from ascend_workbook.machine.sandbox import Enclosure
from ascend_workbook.storage.names import read_user_output
from course.exercises.patience import is_shared, patient_limit
from course.exercises.task import Point

PACKAGE = Path(__file__).resolve().parents[1]
CHILD = PACKAGE / "tasks" / "child"
TIMEOUT_S = 150.0
#: 1 while a class is graded: a script is somebody's who may want more than an answer.
GRADING = "ASCEND_WORKBOOK_GRADING"


@dataclass(frozen=True)
class Trial:
    """One run of a text: where its folder is, on which tier, with which arguments and plugins."""

    text: str
    folder: Path
    tier: str = "cpu"
    args: Sequence[str] = ()
    nproc: int = 1
    plugins: Sequence[Plugin] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    steps: int | None = None
    timeout_s: float = TIMEOUT_S


def npu_tier() -> str:
    """The simulated NPU, or the real one where there is one. Raises WorkbookError `device.absent` where neither is."""
    why = devices.cannot_be("npu-simulated")
    if why is None:
        return "npu-simulated"
    if devices.cannot_be("npu") is None:
        return "npu"
    raise WorkbookError("device.absent", wanted="npu-simulated", why=why)


def another_seed() -> int:
    """Return another seed at each check, and never the notebook's 0: losses that were written down do not fit it."""
    return 1 + secrets.randbelow(10_000)


def run_trial(trial: Trial) -> LaunchResult:
    """Run the trial in a fresh folder; a script that fails or hangs is a result. A GPU script goes to an NPU by
    transfer_to_npu, to the CPU by a stand-in for CUDA.
    """
    return side_by_side(trial)[0]


def _enclose_trial(trial: Trial) -> Enclosure | None:
    """Return what keeps a graded script from the checker's sources and from what it is held against."""
    if os.environ.get(GRADING) != "1":
        return None
    others = [path for path in trial.folder.parent.iterdir() if path != trial.folder]
    sources = [
        path for path in (*PACKAGE.iterdir(), *(PACKAGE / "tasks").iterdir()) if path.name not in ("tasks", "child")
    ]
    return Enclosure((), hidden=(*others, *sources), network=True)  # it has the judge's, which leads nowhere


def _run_script(trial: Trial) -> LaunchResult:
    work = trial.folder / "work"
    env = {**devices.child_environment(trial.tier), "OMP_NUM_THREADS": "1", **trial.env}
    accelerator = "npu" if trial.tier.startswith("npu") else trial.tier
    return launch(
        LaunchSpec(
            out=trial.folder,
            script=work / "script.py",
            args=trial.args,
            cwd=work,
            nproc=trial.nproc,
            env=env,
            transform=TRANSFORM_TO[accelerator],
            steps=trial.steps,
            timeout_s=patient_limit(trial.timeout_s),
            plugins=trial.plugins,
            tier=trial.tier,
            simulated=trial.tier == "npu-simulated",
            enclosure=_enclose_trial(trial),
        )
    )


def side_by_side(*trials: Trial) -> list[LaunchResult]:
    """Run all trials at a time, each a process; one by one where many share the machine."""
    for trial in trials:
        shutil.rmtree(trial.folder, ignore_errors=True)
        work = trial.folder / "work"
        work.mkdir(parents=True)
        (work / "script.py").write_text(trial.text, encoding="utf-8")
    with ThreadPoolExecutor(1 if is_shared() else len(trials)) as pool:
        return list(pool.map(_run_script, trials))


def require_whole(result: LaunchResult) -> LaunchResult:
    """Return a run of ours that the answer is held against. Raises WorkbookError `course.run.reference`."""
    if not result.ok:
        raise WorkbookError("course.run.reference", why=result.trouble)
    return result


def judge_end(result: LaunchResult) -> Point:
    """Return the point that it came to its end; where it did not, the launcher's sentence."""
    if result.ok:
        return True, Sentence("course.run.ran", steps=len(result.steps))
    return False, Sentence("course.run.failed", why=result.trouble)


def on_npu(result: LaunchResult) -> Point:
    where = result.parameter_devices
    good = bool(where) and all(name.startswith("npu") for name in where)
    return good, Sentence("course.run.on_npu" if good else "course.run.off_npu", devices=where or ["-"])


def same_losses(expected: Sequence[float | None], actual: Sequence[float | None], tolerance: float) -> Point:
    """Return the point that each step has the same loss; the first that has not is told. NaN is never the same."""
    if len(expected) != len(actual):
        return False, Sentence("course.run.steps", steps=len(actual), wanted=len(expected))
    worst = 0.0
    for step, (left, right) in enumerate(zip(expected, actual), 1):
        if left is None or right is None or not math.isfinite(left) or not math.isfinite(right):
            return False, Sentence("course.run.no_loss", step=step, wanted=left, loss=right)
        error = abs(left - right) / max(abs(left), 1e-12)
        if error > tolerance:
            return False, Sentence("course.run.losses_part", step=step, wanted=f"{left:.6f}", loss=f"{right:.6f}")
        worst = max(worst, error)
    return True, Sentence("course.run.losses_same", steps=len(expected), worst=f"{worst:.1g}")


def lines_printed(result: LaunchResult, of: Callable[[str], bool]) -> list[str]:
    """Return lines of the script's output."""
    lines = read_user_output(result.output_path).splitlines()
    return [line.strip() for line in lines if of(line.strip())]
