"""What the boot file does: finds its role, brings the data, does the work, takes the results away, ends with its code.

Exit codes: the work's own (0 good, 1 the verdict is FAIL, 2 could not run, 128+n ended by signal n); 2 where the boot
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

from helpers.environment.hardware import device_nodes
from helpers.environment.launching.rank_table import BrokenTable, RankTable, read
from helpers.environment.system import PROJECT, System
from helpers.errors import WorkbookError, reason
from helpers.modelarts import role, scratch, transfer, work
from helpers.modelarts.mark import Mark
from helpers.words import Scalar, say

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
    """One process of the job; the exit code."""
    variables = dict(os.environ if environ is None else environ)
    try:
        return boot(parse(argv), variables)
    except WorkbookError as error:
        print(say("modelarts.stopped", message=error.message()), file=sys.stderr, flush=True)
        if error.hint():
            print(say("command.hint", hint=error.hint()), file=sys.stderr, flush=True)
    except OSError as error:
        told: dict[str, Scalar] = {"path": str(error.filename or ""), "error": reason(error)}
        print(say("modelarts.stopped", message=say("command.file", **told)), file=sys.stderr, flush=True)
    return 2


def parse(argv: Sequence[str]) -> Given:
    """Raises WorkbookError `modelarts.two_works`. Parameters that are not ours are the platform's: they are named."""
    parser = argparse.ArgumentParser(prog="modelarts_job.py", allow_abbrev=False, add_help=False)
    parser.add_argument("--data_url", default="")
    parser.add_argument("--train_url", default="")
    parser.add_argument("--command", default="run --name job -p device npu")
    parser.add_argument("--script", default="")
    parser.add_argument("--setup", default="auto", choices=("auto", "never"))
    parser.add_argument("--scratch", default="")
    parser.add_argument("--wait_for_lead", dest="wait_s", type=float, default=120.0)
    parser.add_argument("--dry_run", action="store_true")
    known, others = parser.parse_known_args(list(argv))
    if known.script and any(word.startswith("--command") for word in argv):
        raise WorkbookError("modelarts.two_works")
    if others:
        tell("modelarts.others", names=[word.partition("=")[0] for word in others if word.startswith("-")])
    return Given(**vars(known))


def boot(given: Given, environ: Mapping[str, str]) -> int:
    """Finds the role and fills it."""
    system = System(environ=environ)
    cards = sum(node.path.rpartition("davinci")[2].isdigit() for node in device_nodes(system))
    mine = role.decide(given.kind, environ, table_of(environ, given.kind), cards, socket.gethostname())
    tell(mine.key, **mine.args)
    if given.dry_run:
        return foresee(given, mine, environ)
    place = scratch_of(given, mine, environ)
    if mine.name == "leave":
        return leave(Mark.of(place.folder, environ), mine, given.wait_s)
    tell("modelarts.scratch_is", path=str(place.folder), source=place.source, free=round(place.free_mib))
    tell_shm()
    with Mark.of(place.folder, environ).held(shared=mine.name == "rank") as left:
        if left:
            tell("modelarts.left", names=left, path=str(place.folder))
        return lead(given, mine, place, environ)


def scratch_of(given: Given, mine: role.Role, environ: Mapping[str, str]) -> scratch.Scratch:
    return scratch.choose(environ, given.scratch, mine.job.host_rank if mine.job.host_count > 1 else None)


def table_of(environ: Mapping[str, str], kind: str) -> RankTable | None:
    """HCCL's rank table; of no account, where it cannot be read, to work that does not use it."""
    path = environ.get("RANK_TABLE_FILE", "")
    if not path:
        return None
    try:
        return read(Path(path))
    except BrokenTable as why:
        if kind == "script":
            raise WorkbookError(why.key, **why.arguments) from why
        tell("modelarts.table_unused", why={"say": why.key, "args": why.arguments})
        return None


def leave(mark: Mark, mine: role.Role, limit_s: float) -> int:
    """Ends well, once it is certain that somebody does the work: a job in which all leave would be green for nothing.

    Raises WorkbookError `modelarts.no_lead`.
    """
    if mine.near and not mark.seen(limit_s):
        raise WorkbookError("modelarts.no_lead", seconds=f"{limit_s:g}")
    tell("modelarts.leaves")
    return 0


def lead(given: Given, mine: role.Role, place: scratch.Scratch, environ: Mapping[str, str]) -> int:
    """Data in, work, results out; they go out too where the work has failed."""
    out = outputs(given, mine, place.folder)
    out.mkdir(parents=True, exist_ok=True)
    places = {"out": str(out), "scratch": str(place.folder), "code": str(PROJECT)}
    if given.data_url:
        places["data"] = str(transfer.bring(given.data_url, place.folder / "data"))
    python = python_for(given, place.folder)
    words = work.command(mine, python, given.command, given.script, places)
    tell("modelarts.starts", command=" ".join(words))
    code = work.run(words, work.environment(environ, mine), out)
    tell("modelarts.ended", code=code)
    if transfer.is_remote(given.train_url):
        try:
            tell("modelarts.sent", count=transfer.send(out, address(given, mine)), place=address(given, mine))
        except WorkbookError as error:
            print(say("modelarts.stopped", message=error.message()), file=sys.stderr, flush=True)
            return code or 2
    elif not given.train_url:
        tell("modelarts.not_kept", path=str(out))
    return code


def python_for(given: Given, folder: Path) -> str:
    """This Python; where packages are missing an environment beside it, so that the image's torch stays."""
    needs = [] if given.script else work.lacking(given.command)
    if not needs:
        return sys.executable
    if given.setup == "never":
        raise WorkbookError("modelarts.lacking", names=needs)
    tell("modelarts.installs", names=needs)
    return work.made_ready(folder / "venv")


def outputs(given: Given, mine: role.Role, folder: Path) -> Path:
    """Where the work writes: the platform's own folder where it gave one; of several hosts each has its own."""
    told = given.train_url
    return _own(Path(told) if told and not transfer.is_remote(told) else folder / "out", mine)


def address(given: Given, mine: role.Role) -> str:
    """Where the results go in OBS."""
    several = mine.job.host_count > 1 and given.kind == "script"
    return given.train_url.rstrip("/") + (f"/host-{mine.job.host_rank}" if several else "")


def _own(folder: Path, mine: role.Role) -> Path:
    several = mine.job.host_count > 1 and mine.name != "leave" and mine.job.host_rank is not None
    return folder / f"host-{mine.job.host_rank}" if several else folder


def foresee(given: Given, mine: role.Role, environ: Mapping[str, str]) -> int:
    """Says what would be done, for people above and for a program in one line; does none of it."""
    told: dict[str, object] = {"role": mine.name, "host_rank": mine.job.host_rank, "starter": mine.job.starter}
    if mine.name != "leave":
        place = scratch_of(given, mine, environ)
        out = outputs(given, mine, place.folder)
        places = {"out": str(out), "scratch": str(place.folder), "data": given.data_url, "code": str(PROJECT)}
        needs = [] if given.script else work.lacking(given.command)
        told["command"] = work.command(mine, sys.executable, given.command, given.script, places)
        left = work.environment(environ, mine)
        told.update(out=str(out), scratch=str(place.folder), lacking=needs, moxing=transfer.real_moxing() is not None,
                    dropped=[name for name in work.DROPPED if name in environ and name not in left])  # fmt: skip
    print(PLAN + json.dumps(told), flush=True)
    return 0


def tell_shm() -> None:
    """A warning where shared memory is short: a loader's workers die of it with a bus error."""
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return
    mib = found.f_blocks * found.f_frsize >> 20
    if mib < LEAST_SHM_MIB:
        tell("modelarts.shm", mib=mib)


def tell(key: str, **args: Scalar) -> None:
    """A line of the job's log."""
    print("modelarts: " + say(key, None, **args), flush=True)
