"""A child that is held to a time, a memory and a disk, sees nobody else's work, and ends with all that it started."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.launch.enclosed import list_attempts
from ascend_workbook.machine.sandbox import Enclosure, enclose

#: The enclosure ends a child at its time; this is for listing what it did.
LISTING_S = 60.0


@dataclass(frozen=True)
class Limits:
    """For all processes of a submission together; `user` is the number of the Unix user they become, None: this one."""

    seconds: float = 900.0
    memory_mib: int = 6144
    processes: int = 400
    disk_mib: int = 2048
    user: int | None = None
    group: int | None = None


@dataclass(frozen=True)
class Ended:
    """How it ended: the exit code, what ended it ("time", "memory", "processes", "disk", or "": it ended by itself),
    and what it tried outside its folder."""

    code: int
    seconds: float
    cut: str = ""
    tried: tuple[str, ...] = ()
    refused_sends: int = 0
    guard: str = ""


def run_limited(
    command: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    log: Path,
    limits: Limits,
    *,
    hidden: Sequence[Path] = (),
    sent: bytes = b"",
) -> Ended:
    """Run a command in its folder, with its output in `log`, and some bytes to read. Nothing that it started lives on.

    It writes into its folder alone, has no network, and finds `hidden` empty, as far as the machine's guard goes.
    """
    began = time.monotonic()
    enclosure = Enclosure(
        (cwd,),
        tuple(hidden),
        seconds=limits.seconds,
        disk_mib=limits.disk_mib,
        memory_mib=limits.memory_mib,
        processes=limits.processes,
        user=limits.user,
        group=limits.group,
        ways=tuple(Path(place) for place in (*sys.path, sys.prefix, sys.base_prefix, sys.executable) if place),
    )
    with enclose(command, enclosure, cwd) as enclosed, log.open("wb") as sink:
        process = subprocess.Popen(
            enclosed.command,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_be_nice,
        )
        try:
            assert process.stdin
            with contextlib.suppress(BrokenPipeError), process.stdin:  # who ended before it read is told by its code
                process.stdin.write(sent)
            with contextlib.suppress(subprocess.TimeoutExpired):  # then it is stopped, and its account tells so
                process.wait(limits.seconds + LISTING_S)
        finally:
            process.terminate()
            process.wait()
        account = enclosed.read_account()
    assert account
    seconds = round(time.monotonic() - began, 1)
    tried = tuple(f"{change.path} ({change.kind})" for change in list_attempts([account]))
    return Ended(account.code, seconds, account.cut, tried, account.refused_sends, account.guard)


def _be_nice() -> None:
    os.nice(5)


#: Numbers that systemd keeps for services without an account of their own (systemd.io/UIDS-GIDS).
OWN_USERS = range(61184, 65520)
TRIAL = "import course, ipykernel, nbclient"


def limit_as_own_user(limits: Limits, number: int) -> Limits:
    """Return the limits with a Unix user that nobody else is: the one of this number among OWN_USERS."""
    user = OWN_USERS[number % len(OWN_USERS)]
    return replace(limits, user=user, group=user)


def can_be_another(folder: Path, env: Mapping[str, str]) -> bool:
    """Return whether a user without an account gets as far as starting Python in this folder, and its packages."""
    limits = limit_as_own_user(Limits(seconds=120), 0)
    trial = folder / "trial"
    shutil.rmtree(trial, ignore_errors=True)  # of one that was killed
    home, log = trial / "home", trial / "log"
    home.mkdir(parents=True)
    os.chown(home, OWN_USERS[0], OWN_USERS[0])
    try:
        return run_limited([sys.executable, "-c", TRIAL], {**env, "HOME": str(home)}, home, log, limits).code == 0
    except WorkbookError:  # no enclosure for another user
        return False
    finally:
        shutil.rmtree(trial, ignore_errors=True)
