"""The boot file as the platform starts it: as ma-user, without sudo, in the job's environment and nothing else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from helpers.modelarts.imitation.cases import Start
from helpers.modelarts.imitation.layout import Layout, hand_over
from helpers.words import language

#: ma-user and ma-group of the images (https://support.huaweicloud.com, ma_drawer_124).
USER, GROUP = 1000, 100
LIMIT_S = 300.0


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it wrote."""

    start: Start
    code: int
    output: str


def as_user(layout: Layout) -> int | None:
    """Hands the image to ma-user and gives that user's number; None where this user cannot become another, or the
    other could not run this Python."""
    if os.geteuid() != 0:
        return None
    hand_over(layout, USER, GROUP)
    try:
        done = subprocess.run([str(layout.python), "-c", ""], **_user(USER), check=False, cwd=layout.code,
                              env=environment(layout, Start(0, 0, "")), capture_output=True)  # fmt: skip
    except OSError:
        return None
    return USER if done.returncode == 0 else None


def environment(layout: Layout, start: Start) -> dict[str, str]:
    """ma-user's variables, and the platform's for this process; the conda environment's bin first, no sudo on it."""
    return {
        "HOME": str(layout.home), "USER": "ma-user", "LANG": "C.UTF-8", "SHELL": "/bin/bash",
        "PATH": os.pathsep.join([str(layout.python.parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "MA_HOME": str(layout.home), "MA_JOB_DIR": str(layout.code.parent),
        "MA_MOUNT_PATH": str(layout.home / "modelarts"), "MA_LOG_DIR": str(layout.root / "logs"),
        "MA_CURRENT_INSTANCE_NAME": start.name, "ASCEND_WORKBOOK_LANG": language(), **start.variables,
    }  # fmt: skip


def _user(number: int | None) -> dict[str, Any]:
    """Popen's arguments for another user without further groups; none where it stays this one."""
    return {} if number is None else {"user": number, "group": GROUP, "extra_groups": []}


def run(layout: Layout, starts: Sequence[Start], parameters: Sequence[str], user: int | None) -> list[Ended]:
    """All processes at once, as the platform does; each host has a local disk of its own."""
    command = [str(layout.python), str(layout.code / "modelarts_job.py"), *parameters]
    begun = [
        subprocess.Popen(
            [*command, f"--scratch={layout.cache / f'host-{start.host}'}"], env=environment(layout, start),
            cwd=layout.code, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            **_user(user),
        )
        for start in starts
    ]  # fmt: skip
    try:
        texts = [process.communicate(timeout=LIMIT_S)[0] for process in begun]
    finally:
        for process in begun:
            if process.poll() is None:
                process.kill()
                process.wait()
    return [Ended(start, process.returncode, text) for start, process, text in zip(starts, begun, texts)]
