"""ModelArts' image, played on this machine: variables as the platform sets them, folders below a temporary one, and the
boot file started as ma-user, without sudo, in the job's environment and nothing else.

Recorded forms, not recorded values: names and numbers are made. Source: https://support.huaweicloud.com,
develop-modelarts-0104 (variables of a training container), -1415 (starts), ma_drawer_124 (users and mounts); the
environments' places as users' scripts show them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ascend_workbook.environment.system import PROJECT
from ascend_workbook.findings.sentence import choose_language

# ruff: noqa: SIM905 - a column of names reads better without quotes

JOB = "modelarts-job-0a1b2c3d"
#: As the preset engine starts it: which method, once per card or once per host.
METHODS = ("rtf", "torchrun", "custom")
PORT = "6060"


@dataclass(frozen=True)
class Start:
    """One process that the platform starts: on which host, of which card, with which variables beside the user's."""

    host: int
    card: int
    name: str
    variables: dict[str, str] = field(default_factory=dict)


def host_names(count: int) -> list[str]:
    """Return the names of the hosts; worker-1 is a part of worker-10, which tempts a careless match."""
    return [f"{JOB}-worker-{number}.{JOB}" for number in range(count)]


def job_starts(method: str, count: int, cards: int, folder: Path) -> list[Start]:
    """Return every process of a job; with the preset engine the rank table lies in `folder`."""
    table = folder / "jobstart_hccl.json"
    if method == "rtf":
        table.write_text(json.dumps(make_rank_table(count, cards)), encoding="utf-8")
    per_host = 1 if method == "custom" else cards
    starts = []
    for host in range(count):
        for card in range(per_host):
            variables = {
                "MA_VJ_NAME": JOB,
                "MA_TASK_NAME": "worker",
                "MA_NUM_HOSTS": str(count),
                "MA_NUM_GPUS": str(cards),
                "VC_WORKER_NUM": str(count),
                "VC_TASK_INDEX": str(host),
                "VC_WORKER_HOSTS": ",".join(host_names(count)),
                "MA_CURRENT_IP": f"10.0.0.{host + 1}",
                **_method_variables(method, host, card, cards, count, table),
            }
            starts.append(Start(host, card, f"{JOB}-worker-{host}", variables))
    return starts


def notebook_starts() -> list[Start]:
    """Return a notebook's terminal: no job, though the engine's rank table is named."""
    table = Path("/user/config/nbstart_hccl.json")
    return [Start(0, 0, "notebook-1", _method_variables("rtf", 0, 0, 1, 1, table))]


def _method_variables(method: str, host: int, card: int, cards: int, count: int, table: Path) -> dict[str, str]:
    rank, world = str(host * cards + card), str(count * cards)
    if method == "rtf":
        return {"RANK_TABLE_FILE": str(table), "RANK_ID": rank, "RANK_SIZE": world, "ASCEND_DEVICE_ID": str(card)}
    if method == "torchrun":
        return {
            "MA_RUN_METHOD": "torchrun",
            "RANK": rank,
            "LOCAL_RANK": str(card),
            "WORLD_SIZE": world,
            "LOCAL_WORLD_SIZE": str(cards),
            "GROUP_RANK": str(host),
            "GROUP_WORLD_SIZE": str(count),
            "MASTER_ADDR": host_names(count)[0],
            "MASTER_PORT": PORT,
        }
    return {}


def make_rank_table(count: int, cards: int) -> dict[str, object]:
    """Make a rank table as HCCL's documents have it (version 1.0)."""
    servers = [
        {
            "server_id": f"10.0.0.{host + 1}",
            "host_ip": f"10.0.0.{host + 1}",
            "device": [
                {"device_id": str(card), "device_ip": f"192.168.{host}.{card + 1}", "rank_id": str(host * cards + card)}
                for card in range(cards)
            ],
        }
        for host in range(count)
    ]
    return {"status": "completed", "version": "1.0", "server_count": str(count), "server_list": servers}


CONDA = "anaconda3/envs/PyTorch-2.7.1"
SUDO = "sudo-called"
#: What a job needs of the project; tests, notebooks' outputs and benchmarks stay behind.
CODE = """
ascend_workbook ascend_simulator helpers tools/bootstrap.py modelarts_job.py pyproject.toml requirements.txt
requirements-torch.txt
""".split()


@dataclass(frozen=True)
class Layout:
    """`python` is the conda environment's; `site` its packages, which ma-user cannot write."""

    root: Path
    home: Path
    python: Path
    site: Path
    code: Path
    cache: Path
    outputs: Path
    inputs: Path


def make_layout(root: Path, script: tuple[str, Path] | None = None, hosts: int = 1) -> Layout:
    """Make all folders, with a local disk for each host. A training script goes into the code directory by its name."""
    scripts = [script] if script else []
    home, version = root / "home" / "ma-user", ".".join(map(str, sys.version_info[:2]))
    layout = Layout(
        root,
        home,
        home / CONDA / "bin" / "python",
        home / CONDA / "lib" / f"python{version}" / "site-packages",
        home / "modelarts" / "user-job-dir" / "code",
        root / "cache",
        home / "modelarts" / "outputs" / "train_url_0",
        home / "modelarts" / "inputs" / "data_url_0",
    )
    for host in range(hosts):
        (layout.cache / f"host-{host}").mkdir(parents=True)
    for folder in (layout.python.parent, layout.site, layout.code, layout.outputs, layout.inputs, root / "logs"):
        folder.mkdir(parents=True)
    for source, target in [*((PROJECT / name, name) for name in CODE), *((script[1], script[0]) for script in scripts)]:
        (layout.code / target).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, layout.code / target, ignore=shutil.ignore_patterns("__pycache__", "native"))
        else:
            shutil.copy(source, layout.code / target)
    (layout.inputs / "sample.txt").write_text("1\n", encoding="utf-8")
    # a conda environment's Python with the packages of this one, and a sudo that tells on us
    base = Path(getattr(sys, "_base_executable", sys.executable))
    layout.python.symlink_to(base)
    (layout.home / CONDA / "pyvenv.cfg").write_text(f"home = {base.parent}\n", encoding="utf-8")
    places = [entry for entry in sys.path if entry.endswith("-packages")]
    (layout.site / "image.pth").write_text("".join(f"{place}\n" for place in places), encoding="utf-8")
    sudo = layout.python.with_name("sudo")
    sudo.write_text(f"#!/bin/sh\necho \"$@\" >> '{layout.root / 'logs' / SUDO}'\nexit 1\n", encoding="utf-8")
    sudo.chmod(0o755)
    return layout


def was_sudo_called(layout: Layout) -> bool:
    return (layout.root / "logs" / SUDO).exists()


def hand_over(layout: Layout, user: int, group: int) -> None:
    """Hand over to ma-user what is ma-user's; the conda environment stays another's and cannot be written."""
    for folder in (layout.home, layout.cache, layout.root / "logs"):
        for path in (folder, *folder.rglob("*")):
            os.chown(path, user, group, follow_symlinks=False)
    for path in (layout.site, layout.python.parent):
        os.chown(path, 0, 0)
        path.chmod(0o555)
    layout.root.chmod(0o755)


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
    """Make the environment of a process: ma-user's and the platform's variables; conda's bin first, no sudo."""
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
