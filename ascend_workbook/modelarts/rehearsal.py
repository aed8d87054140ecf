"""`rehearse_job`: a job in the imitated image, start by start: who would do what, and one piece of work really done."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.environment.system import PROJECT
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.modelarts import boot, configuration, imitation
from ascend_workbook.modelarts.configuration import STAGE, JobRequest

COLUMNS = (
    *(Column(f"modelarts_{name}") for name in ("case", "host", "card", "role", "code")),
    Column("modelarts_what", wrap=70),
)
#: The work that is really done: it needs neither a device nor packages, and its verdict is good.
TRIED = "scan {code}/modelarts_job.py"
QUOTED = 300


@dataclass(frozen=True)
class Case:
    """A way to start the job, and how its processes ended; `wanted` is how many of them may do the work."""

    name: str
    wanted: int
    ended: tuple[imitation.Ended, ...]


def rehearse_job(request: JobRequest, *, cards: int = 2) -> Report:
    """Start the job's boot file as the platform would, in each of its ways, with `--dry_run`; then one verb for real.
    Needs no network, no NPU, no account. As ma-user (1000:100) where this user is root, else as this user. Raises what
    `describe` raises, WorkbookError `modelarts.no_script`."""
    configuration.make_body(request)
    script = _find_script(request)
    with tempfile.TemporaryDirectory(prefix="modelarts-") as folder:
        Path(folder).chmod(0o755)
        image = imitation.make_layout(Path(folder, "image"), script, request.nodes)
        user = imitation.choose_player(image)
        parameters, run = _make_parameters(request, image), imitation.run_processes
        cases_run = []
        for method in imitation.METHODS:
            starts = imitation.job_starts(method, request.nodes, cards, image.root)
            each_rank = method == "torchrun" and request.script
            expected_count = len(starts) if each_rank else request.nodes if request.script else 1
            cases_run.append(Case(method, expected_count, tuple(run(image, starts, parameters, user))))
        if not request.script:
            cases_run.append(Case("notebook", 1, tuple(run(image, imitation.notebook_starts(), parameters, user))))
        starts = imitation.job_starts("rtf", 1, cards, image.root)
        tried = run(image, starts, _make_parameters(request, image, TRIED), user)
        findings = [*_judge_cases(cases_run), _judge_trial(tried), *_report_limits(image, user)]
    worst = max(item.status for item in findings)
    args: dict[str, Scalar] = {"ways": len(cases_run), "processes": sum(len(item.ended) for item in cases_run)}
    key = "RUN411.fails" if worst is Status.FIX else "RUN411.good"
    verdict = Finding("RUN411", max(worst, Status.GOOD), key, args, weight=100)
    rows = tuple(
        _make_row(case.name, item, image) for case in [*cases_run, Case("work", 1, tuple(tried))] for item in case.ended
    )
    return Report(STAGE, "modelarts_rehearsal", (verdict, *findings), Table(COLUMNS, rows), answers=("RUN411",))


def _find_script(request: JobRequest) -> tuple[str, Path] | None:
    """Return the training script's name in the code directory, and where it is on this machine."""
    if not request.script:
        return None
    name = shlex.split(request.script)[0]
    path_found = next((path for path in (PROJECT / name, Path(name)) if path.is_file()), None)
    if path_found is None:
        raise WorkbookError("modelarts.no_script", path=name)
    return name, path_found


def _make_parameters(request: JobRequest, image: imitation.Layout, command: str = "") -> list[str]:
    words = [f"--train_url={image.outputs}", *([f"--data_url={image.inputs}"] if request.data else [])]
    if command:
        return [*words, f"--command={command}"]
    if request.script:
        return [*words, "--dry_run", f"--script={request.script}"]
    return [*words, "--dry_run", f"--command={request.command}"]


def read_plan(ended: imitation.Ended) -> dict[str, Any]:
    """Read the line for programs; empty where there is none."""
    lines = [line for line in ended.output.splitlines() if line.startswith(boot.PLAN)]
    plan: dict[str, Any] = json.loads(lines[-1][len(boot.PLAN) :]) if lines else {}
    return plan


def _judge_cases(cases_run: Sequence[Case]) -> Iterator[Finding]:
    for case in cases_run:
        way: Scalar = Sentence(f"modelarts.way.{case.name}")
        bad = [ended for ended in case.ended if ended.code]
        at_work = [ended for ended in case.ended if read_plan(ended).get("role") in ("lead", "rank")]
        if bad:
            args: dict[str, Scalar] = {"way": way, "code": bad[0].code, "said": last_output(bad[0])}
            yield Finding("RUN412", Status.FIX, "RUN412.code", args, weight=60)
        elif len(at_work) != case.wanted:
            args = {"way": way, "found": len(at_work), "wanted": case.wanted}
            yield Finding("RUN412", Status.FIX, "RUN412.leads", args, weight=70)
        else:
            args = {"way": way, "count": len(case.ended), "leads": len(at_work)}
            yield Finding("RUN412", Status.GOOD, "RUN412.good", args)
        lacking = sorted({str(name) for ended in at_work for name in read_plan(ended).get("lacking", ())})
        if lacking:
            yield Finding("RUN412", Status.NOTE, "RUN412.lacking", {"way": way, "names": [*lacking]})


def _judge_trial(ended: Sequence[imitation.Ended]) -> Finding:
    """Judge the work that was really done: one process does it, the others leave, all end well."""
    bad = next((process_ended for process_ended in ended if process_ended.code), None)
    if bad is None:
        return Finding("RUN413", Status.GOOD, "RUN413.worked", {"command": TRIED, "count": len(ended)})
    args: dict[str, Scalar] = {"command": TRIED, "code": bad.code, "said": last_output(bad)}
    return Finding("RUN413", Status.FIX, "RUN413.failed", args, weight=65)


def _report_limits(image: imitation.Layout, user: imitation.Player) -> Iterator[Finding]:
    """Report what of the image was played, and what was not."""
    if imitation.was_sudo_called(image):
        yield Finding("RUN414", Status.FIX, "RUN414.sudo", {}, weight=80)
    own_user, no_shm = (Finding("RUN414", Status.NOTE, f"RUN414.{name}") for name in ("own_user", "no_shm"))
    yield own_user if user.user is None else Finding("RUN414", Status.GOOD, "RUN414.user", {"user": user.user})
    yield Finding("RUN414", Status.GOOD, "RUN414.shm", {"size": imitation.SHM}) if user.small else no_shm
    yield Finding("RUN414", Status.NOTE, "RUN414.not_played", {})


def last_output(ended: imitation.Ended) -> str:
    """Return what a process said at its end."""
    lines = [line for line in ended.output.splitlines() if line.strip() and not line.startswith(boot.PLAN)]
    return " / ".join(lines[-2:])[-QUOTED:] if lines else "-"


def _make_row(case: str, ended: imitation.Ended, image: imitation.Layout) -> tuple[Scalar, ...]:
    """Make a row of the table, with paths as they would be in the image."""
    plan = read_plan(ended)
    role, command = plan.get("role"), plan.get("command")
    words = (shlex.join(command) if command else last_output(ended)).replace(str(image.root), "")
    shown: Scalar = Sentence(f"modelarts.role.{role}") if role else None
    return (Sentence(f"modelarts.way.{case}"), ended.start.host, ended.start.card, shown, ended.code, words)
