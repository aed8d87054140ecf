"""One side of a dry run: the script in a mirror of its folder, launched on a device and observed."""

from __future__ import annotations

import difflib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from helpers import device as devices
from helpers.device import Device
from helpers.finding import Place
from helpers.launch import LaunchResult, LaunchSpec, Plugin, Progress, launch
from helpers.migration.dry_run.mirror import migrated_texts, mirror
from helpers.migration.rewrite.explicit.commands import arguments
from helpers.migration.rewrite.work import EXPLICIT, INJECT
from helpers.words import Scalar

CHILD = Path(__file__).parents[1] / "child"
#: What the simulator shows where nobody asks (ASCEND_WORKBOOK_SIM_DEVICES).
SIMULATED_DEVICES = 2
Told = Callable[[str, Progress], None]


@dataclass(frozen=True)
class Plan:
    """What all sides share. Numbers of steps and seconds are per run; `limit_mib` is for each process of a run."""

    script: Path
    args: tuple[str, ...]
    out: Path
    steps: int
    nproc: int
    seed: int
    python: str
    timeout_s: float | None
    loss_regex: str | None = None
    limit_mib: int | None = None
    mode: str = INJECT


@contextmanager
def folder(out: str | Path | None, prefix: str) -> Iterator[Path]:
    """`out`, or a temporary folder; that one is removed where an error leaves no report to name it."""
    made = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield made
    except BaseException:
        if out is None:
            shutil.rmtree(made, ignore_errors=True)
        raise


def run_side(
    plan: Plan,
    side: str,
    where: Device,
    on_progress: Told | None = None,
    plugins: Sequence[Plugin] = (),
    *,
    grad_norm: bool = True,
) -> LaunchResult:
    """Runs it in a fresh mirror below `out/<side>`; migrated where the side is not "baseline" and has an NPU."""
    into = plan.out / side
    shutil.rmtree(into / "work", ignore_errors=True)
    migrated = side != "baseline" and where.accelerator == "npu"
    contents, _ = migrated_texts(plan.script, plan.mode) if migrated else ({}, [])
    script = mirror(plan.script, into / "work", contents)
    spec = LaunchSpec(
        out=into,
        script=script,
        args=arguments(plan.args) if migrated and plan.mode == EXPLICIT else plan.args,
        cwd=into / "work",
        python=plan.python,
        nproc=plan.nproc,
        env=_environment(where, plan.nproc),
        transform="baseline_cpu" if where.tier == "cpu" else "none",
        steps=plan.steps,
        seed=plan.seed,
        deterministic=True,
        loss_regex=plan.loss_regex,
        timeout_s=plan.timeout_s,
        plugins=plugins,
        grad_norm=grad_norm,
        tier=where.tier,
        simulated=where.simulated,
    )
    return launch(spec, _once_a_step(side, on_progress) if on_progress else None)


def _environment(where: Device, nproc: int) -> dict[str, str]:
    env = devices.child_environment(where.tier)
    if where.simulated and nproc > int(env.get("ASCEND_WORKBOOK_SIM_DEVICES") or SIMULATED_DEVICES):
        env["ASCEND_WORKBOOK_SIM_DEVICES"] = str(nproc)
    return env


def _once_a_step(side: str, on_progress: Told) -> Callable[[Progress], None]:
    """The launcher also tells of every new line of output."""
    told: list[int] = []

    def tell(progress: Progress) -> None:
        if progress.step not in told:
            told.append(progress.step)
            on_progress(side, progress)

    return tell


def place_of(plan: Plan, side: str, path: str | None, line: int | None) -> Place | None:
    """A place that a side named, as the user's own file has it: migrating puts lines in."""
    if not path:
        return None
    work = (plan.out / side / "work").resolve()
    file = Path(path) if Path(path).is_absolute() else work / path
    there = file.parent.resolve() / file.name  # the mirror's links must not be followed
    if not there.is_relative_to(work):
        return Place(str(there), line or 0)
    name = there.relative_to(work)
    return Place(name.as_posix(), line_before(plan.script.parent / name, there, line or 0))


def failure(plan: Plan, side: str, result: LaunchResult) -> tuple[dict[str, Scalar], Place | None]:
    """What went wrong with a side, and where: both speak of the user's own file, not of the mirror's."""
    trouble = dict(result.trouble or {})
    error = result.error
    place = place_of(plan, side, error.path, error.line) if error else None
    args = trouble.get("args")
    if place is not None and isinstance(args, dict) and args.get("place"):
        trouble["args"] = {**args, "place": str(place)}
    return trouble, place


def line_before(original: Path, migrated: Path, line: int) -> int:
    """The line of the original that became `line` of the migrated file; where none did, the one above."""
    try:
        before, after = (file.read_bytes() for file in (original, migrated))
    except OSError:
        return line
    if before == after:
        return line
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    for _, first, last, start, end in matcher.get_opcodes():
        if start < line <= end:
            return max(min(first + line - start, last), 1)
    return line
