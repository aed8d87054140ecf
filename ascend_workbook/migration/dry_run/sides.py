"""One side of a dry run: the script in a mirror of its folder, launched on a device and observed."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, Plugin, Progress, launch
from ascend_workbook.machine.launch.enclosed import choose_enclosure, report_accounts
from ascend_workbook.migration.dry_run.mirror import Copies, clear_mirror, list_changed_files, make_mirror, record_state
from ascend_workbook.migration.dry_run.original import SHOWN, Original
from ascend_workbook.migration.rewrite.change import EXPLICIT, INJECT
from ascend_workbook.migration.rewrite.explicit.calls import rewrite_arguments
from ascend_workbook.migration.rules.environment import RENAMED

CHILD = Path(__file__).parents[1] / "child"
#: Beside a side's work folder: what of the user's lies in it, and what was left out.
WORK_LIST = "work.json"
Told = Callable[[str, Progress], None]


@dataclass(frozen=True)
class Plan:
    """What all sides share. Numbers of steps and seconds are per run; `limit_mib` is for each process of a run."""

    original: Original
    out: Path
    steps: int
    seed: int
    python: str
    timeout_s: float | None
    loss_regex: str | None = None
    limit_mib: int | None = None
    mode: str = INJECT
    network: bool = False
    draws: str = "device"
    rm_dropout: bool = False
    #: What the migrated side has in place of the user's files, where that is not for `mode` to say.
    migrated: Mapping[Path, bytes] | None = None
    #: Files of the user's that the migrated side does not have.
    gone: frozenset[Path] = frozenset()
    #: What the baseline has in their place.
    mended: Mapping[Path, bytes] = field(default_factory=dict)
    #: The user's own files that a side has changed through a link, by side.
    touched: dict[str, list[Path]] = field(default_factory=dict)
    #: What each side's work folder was made of.
    copies: dict[str, Copies] = field(default_factory=dict)

    @property
    def script(self) -> Path:
        """The user's file, a notebook perhaps."""
        return self.original.given


@contextmanager
def open_out_folder(out: str | Path | None, prefix: str) -> Iterator[Path]:
    """Open `out`, or a temporary folder; that one is removed where an error leaves no report to name it."""
    out_folder = Path(out).resolve() if out is not None else Path(tempfile.mkdtemp(prefix=prefix)).resolve()
    try:
        yield out_folder
    except BaseException:
        if out is None:
            shutil.rmtree(out_folder, ignore_errors=True)
        raise


def run_side(
    plan: Plan,
    side: str,
    where: Device,
    on_progress: Told | None = None,
    plugins: Sequence[Plugin] = (),
    *,
    grad_norm: bool = True,
    deterministic: bool = True,
    environment: Mapping[str, str] | None = None,
) -> LaunchResult:
    """Runs it in a fresh mirror below `out/<side>`; migrated where the side is not "baseline" and has an NPU.

    `environment` is set beside what the device and the launch script set, and wins."""
    into, original, around = plan.out / side, plan.original, plan.original.layout
    work = into / "work"
    if work.is_symlink():  # an earlier script may have put a link there
        work.unlink()
    shutil.rmtree(work, ignore_errors=True)
    migrated = side != "baseline" and where.accelerator == "npu"
    contents: Mapping[Path, bytes] = {**original.texts, **plan.mended}
    if migrated:
        contents = original.migrate_texts(plan.mode) if plan.migrated is None else {**original.texts, **plan.migrated}
    gone = plan.gone if migrated else frozenset()
    contents = {file: data for file, data in contents.items() if file not in gone}
    script, copies = make_mirror(original.script, work, contents, around.root, (around.cwd, *around.paths), gone)
    spec = LaunchSpec(
        out=into,
        script=script,
        args=rewrite_arguments(original.args) if migrated and plan.mode == EXPLICIT else original.args,
        cwd=work / around.cwd.relative_to(around.root),
        python=plan.python,
        nproc=original.nproc,
        env={**_make_environment(where, plan, work, migrated=migrated), **(environment or {})},
        transform="baseline_cpu" if where.tier == "cpu" else "none",
        steps=plan.steps,
        seed=plan.seed,
        deterministic=deterministic,
        loss_regex=plan.loss_regex,
        timeout_s=plan.timeout_s,
        plugins=[*plugins, *([Plugin(CHILD / "notebook_names.py")] if original.cells else [])],
        grad_norm=grad_norm,
        tier=where.tier,
        simulated=where.simulated,
        mirror=work,
        draws=plan.draws,
        rm_dropout=plan.rm_dropout,
        enclosure=choose_enclosure(where, network=plan.network, python=plan.python),
    )
    before = record_state(work)
    try:
        return launch(spec, _once_a_step(side, on_progress) if on_progress else None)
    finally:
        plan.touched[side], plan.copies[side] = list_changed_files(before), copies
        clear_mirror(work, copies)
        (into / WORK_LIST).write_text(json.dumps(describe_copies(plan, side), ensure_ascii=False, indent=1), "utf-8")


def describe_copies(plan: Plan, side: str) -> dict[str, list[str]]:
    """Describe what of the user's lies in a side's work folder, and what was never put there."""
    around, copies = plan.original.layout, plan.copies.get(side)
    left = sorted(path.relative_to(around.root.resolve()).as_posix() for path in copies.left_out) if copies else []
    return {"holds": sorted(file.relative_to(around.root).as_posix() for file in plan.original.texts), "left_out": left}


def report_surroundings(plan: Plan, *results: LaunchResult | None) -> list[Finding]:
    """Report what ran, which of the user's own files it has changed (the mirror holds a link where a copy would be too
    large), what it did not find beside it (hidden files, and names as credentials have them), how the machine was
    protected, and what the script tried outside its results."""
    findings = [*plan.original.findings]
    paths = dict.fromkeys(path for side in plan.touched.values() for path in side)
    if paths:
        touched: list[Scalar] = [str(path) for path in list(paths)[:SHOWN]]
        findings.append(Finding("MIG148", Status.LOOK, "MIG148.touched", {"count": len(paths), "paths": touched}))
    every = {name for side in plan.copies for name in describe_copies(plan, side)["left_out"]}
    if every:
        names: list[Scalar] = [*sorted(every)[:SHOWN], *(["…"] if len(every) > SHOWN else [])]
        findings.append(Finding("MIG148", Status.GOOD, "MIG148.left_out", {"count": len(every), "names": names}))
    ran = [result for result in results if result is not None]
    accounts = [result.account for result in ran if result.account is not None]
    errors = [result.error.message if result.error else "" for result in ran if not result.ok]
    return [*findings, *report_accounts(accounts, ("MIG155", "MIG156"), network=plan.network, errors=errors)]


def _make_environment(where: Device, plan: Plan, work: Path, *, migrated: bool) -> dict[str, str]:
    """The device's, with what a launch script sets; folders of modules are those of the mirror."""
    env = devices.child_environment(where.tier)
    for name, value in plan.original.environment.items():
        env[RENAMED.get(name, name) if migrated else name] = value
    if where.simulated:
        env = devices.show_devices(env, plan.original.nproc)
    around = plan.original.layout
    module_paths = [str(work / path.relative_to(around.root)) for path in around.paths]
    module_paths += map(str, plan.original.libraries)
    if module_paths:
        env["PYTHONPATH"] = os.pathsep.join([*module_paths, *filter(None, [env.get("PYTHONPATH", "")])])
    return env


def _once_a_step(side: str, on_progress: Told) -> Callable[[Progress], None]:
    """The launcher also tells of every new line of output."""
    told_steps: list[int] = []

    def tell_step(progress: Progress) -> None:
        if progress.step not in told_steps:
            told_steps.append(progress.step)
            on_progress(side, progress)

    return tell_step


def place_of(plan: Plan, side: str, path: str | None, line: int | None) -> Place | None:
    """A place that a side named, as the user's own file has it: migrating puts lines in."""
    original_place = in_original(plan, side, path, line)
    if original_place is None:
        return Place(path, line or 0) if path else None
    return plan.original.place_of_line(*original_place)


def in_original(plan: Plan, side: str, path: str | None, line: int | None) -> tuple[Path, int] | None:
    """The module, by its path below the root, and the line of it before it was migrated; None for another's file."""
    if not path:
        return None
    work, around = plan.out / side / "work", plan.original.layout
    file = Path(path) if Path(path).is_absolute() else work / path
    there = Path(os.path.normpath(file))  # the mirror's links must not be followed
    if there.is_relative_to(work):
        name = there.relative_to(work)
    elif there.is_relative_to(around.root.resolve()):
        name = there.relative_to(around.root.resolve())  # a module that Python found behind a link
    else:
        return None
    return name, line_before(plan.original.texts.get(around.root / name), there, line or 0)


def describe_failure(plan: Plan, side: str, result: LaunchResult) -> tuple[Sentence, Place | None]:
    """Describe what went wrong with a side, and where: both speak of the user's own file, not of the mirror's."""
    trouble = result.trouble or Sentence("report.not_looked")
    error = result.error
    place = place_of(plan, side, error.path, error.line) if error else None
    work, root = str(plan.out / side / "work"), str(plan.original.layout.root)
    args = {name: text.replace(work, root) if isinstance(text, str) else text for name, text in trouble.args.items()}
    if place is not None and args.get("place"):
        args["place"] = f"({place})"
    return Sentence(trouble.key, **args), place


def line_before(before: bytes | None, migrated: Path, line: int) -> int:
    """The line of the original that became `line` of the migrated file; where none did, the one above."""
    try:
        after = migrated.read_bytes()
    except OSError:
        return line
    if before is None or before == after:
        return line
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    for _, first, last, start, end in matcher.get_opcodes():
        if start < line <= end:
            return max(min(first + line - start, last), 1)
    return line
