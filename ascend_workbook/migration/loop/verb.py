"""The verb: where the result lies, whether an earlier call is gone on with, and the report in the end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report, load_report
from ascend_workbook.findings.sentence import say
from ascend_workbook.machine import device as devices
from ascend_workbook.migration.dry_run import SEED, memory, sides
from ascend_workbook.migration.dry_run.failed import refuse_migrated
from ascend_workbook.migration.dry_run.layout import is_too_wide
from ascend_workbook.migration.dry_run.original import Original, prepare_training
from ascend_workbook.migration.loop import rounds as looping
from ascend_workbook.migration.loop import state as states
from ascend_workbook.migration.loop.copying import Files, list_files
from ascend_workbook.migration.loop.curing import check_names
from ascend_workbook.migration.loop.git import find_top, run_git
from ascend_workbook.migration.loop.report import make_report, tell_release
from ascend_workbook.migration.loop.repository import OURS, Result, make_result
from ascend_workbook.migration.release import aim_at, choose_release
from ascend_workbook.migration.rewrite.change import INJECT, MODES
from ascend_workbook.storage import write_file

REPORT = "report.json"


def migrate(
    script: str | Path,
    args: Sequence[str] = (),
    *,
    out: str | Path | None = None,
    branch: str | None = None,
    root: str | Path | None = None,
    rounds: int = 10,
    steps: int = 5,
    device: str = "auto",
    baseline: str = "auto",
    nproc: int = 1,
    mode: str = INJECT,
    skip: Sequence[str] = (),
    network: bool = False,
    seed: int = SEED,
    timeout_s: float | None = 600.0,
    loss_regex: str | None = None,
    torch_npu: str | None = None,
    python: str = sys.executable,
    on_progress: sides.Told | None = None,
    tell: Callable[[str], None] | None = None,
) -> Report:
    """Makes a copy of the script's repository that trains on an NPU, in `rounds` runs at most, and says what it did.
    The original's own run that ends well is none of them.

    `script` and `args` are those of `dry_run`. `out` is the folder of the result, a git repository of its own: its
    first commit is the repository as it was, then one commit for each rule of the rewrite and each cause that a run
    showed. Without `out` it lies beside the repository, as NAME-npu. `branch` makes the same commits a new branch of
    the user's repository, whose working tree and index stay as they are. `root` is the folder to copy where it is not
    the repository around the script. A second call with the same result goes on where the first ended.
    `torch_npu` is the release to rewrite for, as `scan` takes it; the runs are made on the one that is here.
    `skip` names cures that are not to be applied. Random numbers come from the host on both sides, so that losses can
    be compared. Raises WorkbookError where nothing could be run."""
    if mode not in MODES:
        raise WorkbookError("migration.mode", mode=mode, modes=list(MODES))
    if rounds < 1:
        raise WorkbookError("loop.rounds", rounds=rounds)
    check_names(skip)
    original = prepare_training(script, args, nproc)
    refuse_migrated(original)
    target, base = devices.find(device, python=python), devices.find_baseline(baseline, python=python)
    if target.accelerator != "npu":
        raise WorkbookError("loop.no_npu", tier=target.tier)
    release = choose_release(torch_npu, target.versions.get("torch_npu", ""))
    top, files, folder = _find_places(original, root, out, branch)
    result, state = _open_result(original, files, folder, top, branch, mode, torch_npu or "")
    with states.hold_alone(result.own_folder):
        state = states.load_state(result.own_folder) or state
        result.free_index(ours=state.writing)
        asked = {"args": [*original.args], "steps": steps, "nproc": original.nproc, "seed": seed, "network": network}
        asked |= {"target": target.tier, "baseline": base.tier, "loss_regex": loss_regex, "skip": [*skip]}
        asked |= {"root": str(files.root), "python": python, "versions": [target.versions, base.versions]}
        earlier = _finished_before(result, state, asked)
        if earlier is not None:
            return earlier
        result.check_branch()
        limit = memory.limit_mib(original.nproc)
        runs = result.own_folder / "runs"
        plan = sides.Plan(original, runs, steps, seed, python, timeout_s, loss_regex, limit, mode, network, "host")
        loop = looping.Loop(result, state, plan, base, target, files.root, rounds, tuple(skip), on_progress, tell)
        with aim_at(release):
            verdict = loop.run()
        state.left["uncommitted"] = result.list_uncommitted()
        report = make_report(result, state, verdict, files.root, target.tier, loop.shell)
        report = tell_release(report, release, target.versions.get("torch_npu", ""))
        state.head, state.asked = verdict.head, asked
        write_file(result.own_folder / REPORT, report.to_json())
        state.save(result.own_folder)
        return report


def _find_places(
    original: Original, root: str | Path | None, out: str | Path | None, branch: str | None
) -> tuple[Path | None, Files, Path]:
    """Find the repository's top (None: a folder that is none), its files, and the folder of the result."""
    start = original.layout.root.resolve()
    top = find_top(Path(root).resolve() if root is not None and not branch else start)
    if top is not None and is_too_wide(top):
        top = None
    if branch and top is None:
        raise WorkbookError("loop.no_repository", path=str(start))
    folder = Path(root).resolve() if root is not None and not branch else top or start
    if not start.is_relative_to(folder):
        raise WorkbookError("loop.root", root=str(folder), path=str(original.given))
    if root is None and top is None and (is_too_wide(folder) or folder == Path.home().resolve()):
        raise WorkbookError("loop.too_wide", path=str(folder), script=str(original.given))
    if out is not None:
        into = Path(out).absolute()
    elif branch and top is not None:
        common = run_git(top, "rev-parse", "--git-common-dir").strip()
        into = (top / common).resolve() / OURS / branch.replace("/", "-")
    elif not folder.name:
        raise WorkbookError("loop.out_is_source", path=str(folder))
    else:
        into = folder.with_name(f"{folder.name}-npu")
    if folder == into.resolve() or folder.is_relative_to(into.resolve()):
        raise WorkbookError("loop.out_is_source", path=str(into))
    files = list_files(folder, repository=top is not None, without=(into,), submodules=not branch)
    name = original.given.resolve().relative_to(folder).as_posix()
    if name not in files.names and not branch:  # git ignores it: then the folder around it is what there is
        files = list_files(folder if root is not None else start, repository=False, without=(into,))
    if original.given.resolve().relative_to(files.root).as_posix() not in files.names:
        raise WorkbookError("loop.not_in_copy", path=str(original.given), root=str(files.root))
    return top, files, into


def _open_result(
    original: Original, files: Files, folder: Path, top: Path | None, branch: str | None, mode: str, torch_npu: str
) -> tuple[Result, states.State]:
    """The earlier result of the same files, or a new one."""
    name = original.given.resolve().relative_to(files.root).as_posix()
    source = {
        "root": str(files.root),
        "script": name,
        "sha256": files.hash_state(),
        "branch": branch or "",
        "mode": mode,
        "torch_npu": torch_npu,
    }
    left = {"private": files.private, "large": files.large, "modules": files.modules}
    left["links"] = files.list_leading_out()
    fresh = states.State(source, left=left)
    result = Result(folder, top if branch else None, branch or "")
    earlier = states.load_state(result.own_folder)
    if earlier is None:
        message = say("loop.commit.original", root=files.root.name)
        return make_result(files, folder, top, branch or "", message, fresh.save), fresh
    for part in source:
        if earlier.source.get(part, "") != source[part]:
            was, now = str(earlier.source.get(part, "")), source[part]
            if part == "sha256":
                raise WorkbookError("loop.source_changed", path=str(folder), root=source["root"])
            raise WorkbookError("loop.other_source", path=str(folder), part=part, was=was, now=now)
    return result, earlier


def _finished_before(result: Result, state: states.State, asked: dict[str, Any]) -> Report | None:
    """The report of a call that asked the same and ended well, where nothing has changed since."""
    if state.head and state.head == result.head and state.asked == asked and not result.is_dirty:
        return load_report(result.own_folder / REPORT)
    return None
