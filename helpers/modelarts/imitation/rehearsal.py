"""`rehearse`: a job in the imitated image, start by start: who would do what, and one piece of work really done."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers.environment.system import PROJECT
from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.modelarts import boot, configuration
from helpers.modelarts.configuration import STAGE, JobRequest
from helpers.modelarts.imitation import cases, layout, process
from helpers.report import Column, Report, Table
from helpers.words import Scalar

COLUMNS = (Column("modelarts_case"), Column("modelarts_host"), Column("modelarts_card"), Column("modelarts_role"),
           Column("modelarts_code"), Column("modelarts_what", wrap=70))  # fmt: skip
#: The work that is really done: it needs neither a device nor packages, and its verdict is good.
TRIED = "scan {code}/modelarts_job.py"
QUOTED = 300


@dataclass(frozen=True)
class Case:
    """A way to start the job, and how its processes ended; `wanted` is how many of them may do the work."""

    name: str
    wanted: int
    ended: tuple[process.Ended, ...]


def rehearse(request: JobRequest, *, cards: int = 2) -> Report:
    """Starts the job's boot file as the platform would, each way it has (preset engine, torchrun, custom image,
    notebook), with `--dry_run`; then one verb for real. Needs no network, no NPU, no account.

    As ma-user (1000:100) where this user is root, else as this user. Raises what `describe` raises, WorkbookError
    `modelarts.no_script`.
    """
    configuration.body(request)
    script = _script(request)
    with tempfile.TemporaryDirectory(prefix="modelarts-") as folder:
        Path(folder).chmod(0o755)
        image = layout.make(Path(folder, "image"), script, request.nodes)
        who = process.player(image)
        made = list(_cases(request, image, cards, who))
        tried = process.run(image, cases.job("rtf", 1, cards, image.root), _parameters(request, image, TRIED), who)
        findings = [*_judged(made), *_tried(tried), *_limits(image, who)]
    worst = max(one.status for one in findings)
    told: dict[str, Scalar] = {"ways": len(made), "processes": sum(len(one.ended) for one in made)}
    key = "RUN411.fails" if worst is Status.FAIL else "RUN411.good"
    verdict = Finding("RUN411", max(worst, Status.OK), key, told, weight=100)
    rows = tuple(_row(case.name, one, image) for case in [*made, Case("work", 1, tuple(tried))] for one in case.ended)
    return Report(STAGE, "modelarts_rehearsal", (verdict, *findings), Table(COLUMNS, rows), answers=("RUN411",))


def _script(request: JobRequest) -> tuple[str, Path] | None:
    """The training script's name in the code directory, and where it is on this machine: in the project or here."""
    if not request.script:
        return None
    name = shlex.split(request.script)[0]
    found = next((path for path in (PROJECT / name, Path(name)) if path.is_file()), None)
    if found is None:
        raise WorkbookError("modelarts.no_script", path=name)
    return name, found


def _parameters(request: JobRequest, image: layout.Layout, command: str = "") -> list[str]:
    given = [f"--train_url={image.outputs}", *([f"--data_url={image.inputs}"] if request.data else [])]
    if command:
        return [*given, f"--command={command}"]
    if request.script:
        return [*given, "--dry_run", f"--script={request.script}"]
    return [*given, "--dry_run", f"--command={request.command}"]


def _cases(request: JobRequest, image: layout.Layout, cards: int, who: process.Player) -> Iterator[Case]:
    """Every way, with its processes ended."""
    parameters = _parameters(request, image)
    for method in cases.METHODS:
        starts = cases.job(method, request.nodes, cards, image.root)
        each_rank = method == "torchrun" and request.script
        wanted = len(starts) if each_rank else request.nodes if request.script else 1
        yield Case(method, wanted, tuple(process.run(image, starts, parameters, who)))
    if not request.script:
        yield Case("notebook", 1, tuple(process.run(image, cases.notebook(), parameters, who)))


def plan_of(ended: process.Ended) -> dict[str, object]:
    """The line for programs; empty where there is none."""
    lines = [line for line in ended.output.splitlines() if line.startswith(boot.PLAN)]
    found: dict[str, object] = json.loads(lines[-1][len(boot.PLAN) :]) if lines else {}
    return found


def _judged(made: Sequence[Case]) -> Iterator[Finding]:
    for case in made:
        way: Scalar = {"say": f"modelarts.way.{case.name}"}
        bad = [one for one in case.ended if one.code]
        at_work = [one for one in case.ended if plan_of(one).get("role") in ("lead", "rank")]
        if bad:
            args: dict[str, Scalar] = {"way": way, "code": bad[0].code, "said": last(bad[0])}
            yield Finding("RUN412", Status.FAIL, "RUN412.code", args, weight=60)
        elif len(at_work) != case.wanted:
            args = {"way": way, "found": len(at_work), "wanted": case.wanted}
            yield Finding("RUN412", Status.FAIL, "RUN412.leads", args, weight=70)
        else:
            args = {"way": way, "count": len(case.ended), "leads": len(at_work)}
            yield Finding("RUN412", Status.OK, "RUN412.good", args)
        lacking = sorted({str(name) for one in at_work for name in _list(plan_of(one).get("lacking"))})
        if lacking:
            yield Finding("RUN412", Status.NOTE, "RUN412.lacking", {"way": way, "names": [*lacking]})


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _tried(ended: Sequence[process.Ended]) -> Iterator[Finding]:
    """The work that was really done: one process does it, the others leave, all end well."""
    bad = [one for one in ended if one.code]
    if bad:
        args: dict[str, Scalar] = {"command": TRIED, "code": bad[0].code, "said": last(bad[0])}
        yield Finding("RUN413", Status.FAIL, "RUN413.failed", args, weight=65)
    else:
        yield Finding("RUN413", Status.OK, "RUN413.worked", {"command": TRIED, "count": len(ended)})


def _limits(image: layout.Layout, who: process.Player) -> Iterator[Finding]:
    """What of the image was played, and what was not."""
    if layout.sudo_called(image):
        yield Finding("RUN414", Status.FAIL, "RUN414.sudo", {}, weight=80)
    if who.user is None:
        yield Finding("RUN414", Status.NOTE, "RUN414.own_user", {})
    else:
        yield Finding("RUN414", Status.OK, "RUN414.user", {"user": who.user})
    if who.small:
        yield Finding("RUN414", Status.OK, "RUN414.shm", {"size": process.SHM})
    else:
        yield Finding("RUN414", Status.NOTE, "RUN414.no_shm", {})
    yield Finding("RUN414", Status.NOTE, "RUN414.not_played", {})


def last(ended: process.Ended) -> str:
    """What a process said at its end."""
    lines = [line for line in ended.output.splitlines() if line.strip() and not line.startswith(boot.PLAN)]
    return " / ".join(lines[-2:])[-QUOTED:] if lines else "-"


def _row(case: str, one: process.Ended, image: layout.Layout) -> tuple[Scalar, ...]:
    """Paths as they would be in the image."""
    found = plan_of(one)
    role, command = found.get("role"), found.get("command")
    said = (shlex.join([str(word) for word in _list(command)]) if command else last(one)).replace(str(image.root), "")
    shown: Scalar = {"say": f"modelarts.role.{role}"} if role else None
    return ({"say": f"modelarts.way.{case}"}, one.start.host, one.start.card, shown, one.code, said)
