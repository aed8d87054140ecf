"""The boot file as the platform starts it: as ma-user, without sudo, in the job's environment and nothing else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from ascend_workbook.findings.sentence import choose_language
from ascend_workbook.modelarts.imitation.cases import Start
from ascend_workbook.modelarts.imitation.layout import Layout, hand_over

#: ma-user and ma-group of the images (https://support.huaweicloud.com, ma_drawer_124).
USER, GROUP = 1000, 100
#: A container's default, where the platform gives no more: too little for a loader's workers.
SHM = "64m"
MOUNT = f'mount -t tmpfs -o size={SHM} tmpfs /dev/shm && exec "$@"'
#: setpriv starts its command with root's rights to files still there; what that starts has none of them.
WITHOUT_RIGHTS = ("sh", "-c", 'exec "$@"', "_")
LIMIT_S = 300.0


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it wrote."""

    start: Start
    code: int
    output: str


@dataclass(frozen=True)
class Player:
    """Who the processes run as: `user` None is the present user. `small`: each has a /dev/shm of SHM."""

    user: int | None = None
    small: bool = False

    def make_command(self, command: Sequence[str]) -> list[str]:
        """Make the command that becomes that user."""
        if self.user is None:
            return list(command)
        become = ["setpriv", f"--reuid={self.user}", f"--regid={GROUP}", "--clear-groups", "--", *WITHOUT_RIGHTS]
        mounts = ["unshare", "-m", "sh", "-c", MOUNT, "_"] if self.small else []
        return [*mounts, *become, *command]

    def can_play(self, layout: Layout) -> bool:
        """Return whether this can be played here: it takes rights, tools, and a Python that others may read."""
        reads = ["-c", "import sys; open(sys.argv[1]).close()", str(layout.code / "modelarts_job.py")]
        command = self.make_command([str(layout.python), *reads])
        try:
            process = subprocess.run(
                command,
                check=False,
                cwd=layout.code,
                env=make_environment(layout, Start(0, 0, "")),
                capture_output=True,
            )
        except OSError:
            return False
        return process.returncode == 0


def choose_player(layout: Layout) -> Player:
    """Choose who the processes run as: ma-user with a small /dev/shm where this user may become another and may mount,
    and the image is handed over; else ma-user alone; else the present user."""
    if os.geteuid() != 0:
        return Player()
    hand_over(layout, USER, GROUP)
    chosen = next(
        (candidate for candidate in (Player(USER, True), Player(USER)) if candidate.can_play(layout)), Player()
    )
    if chosen.user is None:
        hand_over(layout, os.geteuid(), os.getegid())
    return chosen


def make_environment(layout: Layout, start: Start) -> dict[str, str]:
    """Make the environment of a process: ma-user's variables, and the platform's. The conda environment's bin stands
    first, and no sudo is on it.
    """
    return {
        "HOME": str(layout.home),
        "USER": "ma-user",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "PATH": os.pathsep.join([str(layout.python.parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "MA_HOME": str(layout.home),
        "MA_JOB_DIR": str(layout.code.parent),
        "MA_MOUNT_PATH": str(layout.home / "modelarts"),
        "MA_LOG_DIR": str(layout.root / "logs"),
        "MA_CURRENT_INSTANCE_NAME": start.name,
        "ASCEND_WORKBOOK_LANG": choose_language(),
        **start.variables,
    }


def run_processes(layout: Layout, starts: Sequence[Start], parameters: Sequence[str], user: Player) -> list[Ended]:
    """Run all processes at once, as the platform does; each host has a local disk of its own."""
    command = [str(layout.python), str(layout.code / "modelarts_job.py"), *parameters]
    processes = [
        subprocess.Popen(
            user.make_command([*command, f"--scratch={layout.cache / f'host-{start.host}'}"]),
            env=make_environment(layout, start),
            cwd=layout.code,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        for start in starts
    ]
    try:
        texts = [process.communicate(timeout=LIMIT_S)[0] for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
    return [Ended(start, process.returncode, text) for start, process, text in zip(starts, processes, texts)]
