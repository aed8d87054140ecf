"""What the boot file does: finds its role, brings the data, does the work, takes the results away, ends with its code.

Exit codes: the work's own (0 good, 1 the verdict is Fix, 2 could not run, 128+n ended by signal n); 2 where the boot
itself could not go on, or the results could not be taken away; 0 of a process that leaves the work to another.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.environment.hardware import device_nodes
from ascend_workbook.environment.launching.rank_table import BrokenTable, RankTable, read_table
from ascend_workbook.environment.system import PROJECT, System
from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.sentence import Scalar, Sentence, say
from ascend_workbook.modelarts import role, work
from ascend_workbook.modelarts.mark import Mark

#: A line of a rehearsal that a program reads.
PLAN = "modelarts-plan: "
LEAST_SHM_MIB = 1024


@dataclass(frozen=True)
class Given:
    """The job's parameters, as ModelArts hands them over: `--name=value`."""

    data_url: str
    train_url: str
    command: str
    script: str
    setup: str
    scratch: str
    wait_s: float
    dry_run: bool

    @property
    def kind(self) -> str:
        return "script" if self.script else "workbook"


def main(argv: Sequence[str], environ: Mapping[str, str] | None = None) -> int:
    """Run one process of the job and return its exit code."""
    variables = dict(os.environ if environ is None else environ)
    try:
        # parameters that are not ours are the platform's and are named
        parser = argparse.ArgumentParser(prog="modelarts_job.py", allow_abbrev=False, add_help=False)
        parser.add_argument("--data_url", default="")
        parser.add_argument("--train_url", default="")
        parser.add_argument("--command", default="run --name job -p device npu")
        parser.add_argument("--script", default="")
        parser.add_argument("--setup", default="auto", choices=("auto", "never"))
        parser.add_argument("--scratch", default="")
        parser.add_argument("--wait_for_lead", dest="wait_s", type=float, default=120.0)
        parser.add_argument("--dry_run", action="store_true")
        arguments, other_words = parser.parse_known_args(list(argv))
        if arguments.script and any(word.startswith("--command") for word in argv):
            raise WorkbookError("modelarts.two_works")
        if other_words:
            log_line("modelarts.others", names=[word.partition("=")[0] for word in other_words if word.startswith("-")])
        return run_boot(Given(**vars(arguments)), variables)
    except WorkbookError as error:
        print(say("modelarts.stopped", message=error.message()), file=sys.stderr, flush=True)
        if error.hint():
            print(say("command.hint", hint=error.hint()), file=sys.stderr, flush=True)
    except OSError as error:
        args: dict[str, Scalar] = {"path": str(error.filename or ""), "error": explain_os_error(error)}
        print(say("modelarts.stopped", message=say("command.file", **args)), file=sys.stderr, flush=True)
    return 2


def run_boot(parameters: Given, environ: Mapping[str, str]) -> int:
    """Find the role of this process and fill it."""
    system = System(environ=environ)
    cards = sum(node.path.rpartition("davinci")[2].isdigit() for node in device_nodes(system))
    own_role = role.decide_role(
        parameters.kind, environ, find_rank_table(environ, parameters.kind), cards, socket.gethostname()
    )
    log_line(own_role.key, **own_role.args)
    if parameters.dry_run:
        return describe_plan(parameters, own_role, environ)
    place = choose_scratch(parameters, own_role, environ)
    if own_role.name == "leave":
        # a job in which all leave would be green for nothing
        mark = Mark.for_job(place.folder, environ)
        if own_role.near and not mark.wait_for_lead(parameters.wait_s):
            raise WorkbookError("modelarts.no_lead", seconds=f"{parameters.wait_s:g}")
        log_line("modelarts.leaves")
        return 0
    log_line("modelarts.scratch_is", path=str(place.folder), source=place.source, free=round(place.free_mib))
    shm = os.statvfs("/dev/shm") if Path("/dev/shm").is_dir() else None
    if shm and shm.f_blocks * shm.f_frsize >> 20 < LEAST_SHM_MIB:  # a loader's workers die of it with a bus error
        log_line("modelarts.shm", mib=shm.f_blocks * shm.f_frsize >> 20)
    with Mark.for_job(place.folder, environ).hold_folder(shared=own_role.name == "rank") as left_behind:
        if left_behind:
            log_line("modelarts.left", names=left_behind, path=str(place.folder))
        return lead_job(parameters, own_role, place, environ)


def choose_scratch(parameters: Given, own_role: role.Role, environ: Mapping[str, str]) -> work.Scratch:
    return work.choose_scratch(
        environ, parameters.scratch, own_role.job.host_rank if own_role.job.host_count > 1 else None
    )


def find_rank_table(environ: Mapping[str, str], kind: str) -> RankTable | None:
    """Return HCCL's rank table, or None where it cannot be read and the work does not use it."""
    path = environ.get("RANK_TABLE_FILE", "")
    if not path:
        return None
    try:
        return read_table(Path(path))
    except BrokenTable as why:
        if kind == "script":
            raise WorkbookError(why.key, **why.arguments) from why
        log_line("modelarts.table_unused", why=Sentence(why.key, **why.arguments))
        return None


def lead_job(parameters: Given, own_role: role.Role, place: work.Scratch, environ: Mapping[str, str]) -> int:
    """Bring the data in, do the work, and take the results out, also where the work has failed."""
    out = output_folder(parameters, own_role, place.folder)
    out.mkdir(parents=True, exist_ok=True)
    places = {"out": str(out), "scratch": str(place.folder), "code": str(PROJECT)}
    if parameters.data_url:
        places["data"] = str(work.bring_data(parameters.data_url, place.folder / "data"))
    python = choose_python(parameters, place.folder)
    words = work.make_command(own_role, python, parameters.command, parameters.script, places)
    log_line("modelarts.starts", command=" ".join(words))
    code = work.run_child(words, work.make_environment(environ, own_role), out)
    log_line("modelarts.ended", code=code)
    if work.is_remote(parameters.train_url):
        try:
            several = own_role.job.host_count > 1 and parameters.kind == "script"
            place_sent = parameters.train_url.rstrip("/") + (f"/host-{own_role.job.host_rank}" if several else "")
            log_line("modelarts.sent", count=work.send_results(out, place_sent), place=place_sent)
        except WorkbookError as error:
            print(say("modelarts.stopped", message=error.message()), file=sys.stderr, flush=True)
            return code or 2
    elif not parameters.train_url:
        log_line("modelarts.not_kept", path=str(out))
    return code


def choose_python(parameters: Given, folder: Path) -> str:
    """Return this Python; where packages are missing one beside it, so that the image's torch stays."""
    needs = [] if parameters.script else work.missing_packages(parameters.command)
    if not needs:
        return sys.executable
    if parameters.setup == "never":
        raise WorkbookError("modelarts.lacking", names=needs)
    log_line("modelarts.installs", names=needs)
    return work.make_ready(folder / "venv")


def output_folder(parameters: Given, own_role: role.Role, folder: Path) -> Path:
    """Return where the work writes: the platform's own folder where it gave one; of several hosts each has its own."""
    url, job = parameters.train_url, own_role.job
    out = Path(url) if url and not work.is_remote(url) else folder / "out"
    several = job.host_count > 1 and own_role.name != "leave" and job.host_rank is not None
    return out / f"host-{job.host_rank}" if several else out


def describe_plan(parameters: Given, own_role: role.Role, environ: Mapping[str, str]) -> int:
    """Print what would be done, for people and for a program in one line; do none of it."""
    about = own_role.job
    plan: dict[str, object] = {"role": own_role.name, "host_rank": about.host_rank, "starter": about.starter}
    if own_role.name != "leave":
        place = choose_scratch(parameters, own_role, environ)
        out = output_folder(parameters, own_role, place.folder)
        places = {"out": str(out), "scratch": str(place.folder), "data": parameters.data_url, "code": str(PROJECT)}
        needs = [] if parameters.script else work.missing_packages(parameters.command)
        plan["command"] = work.make_command(own_role, sys.executable, parameters.command, parameters.script, places)
        child_environment = work.make_environment(environ, own_role)
        plan.update(
            out=str(out),
            scratch=str(place.folder),
            lacking=needs,
            moxing=work.find_moxing() is not None,
            dropped=[name for name in work.DROPPED if name in environ and name not in child_environment],
        )
    print(PLAN + json.dumps(plan), flush=True)
    return 0


def log_line(key: str, **args: Scalar) -> None:
    """Print a line of the job's log."""
    print("modelarts: " + say(key, None, **args), flush=True)
