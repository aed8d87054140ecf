"""A machine to be written: files, tools, variables, and what its Python and its children say."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ascend_workbook.environment.system import Disk, Process, System
from ascend_workbook.machine import bounded, cann

GIB = 1024**3
NO_CUDA = {"say": "device.why.no_cuda", "args": {"torch": "?"}}


@dataclass
class Recorded(Process):
    """Answers of a process that ran elsewhere. `tiers`: what each tier's child said; those absent have no device."""

    kernel: tuple[str, str, str] = ("Linux", "5.10.0", "aarch64")
    libc: str = "glibc 2.35"
    count: int = 192
    allowed: frozenset[int] = frozenset(range(192))
    limits: dict[str, int] = field(default_factory=lambda: {"NOFILE": 1048576, "NPROC": 1 << 20, "MEMLOCK": 1 << 40})
    member: tuple[str, ...] = ("HwHiAiUser", "users")
    closed: tuple[str, ...] = ()
    disks: dict[str, Disk] = field(default_factory=dict)
    version: str = "3.11.9"
    executable: str = "/usr/bin/python3.11"
    installed: dict[str, str] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    in_kernel: bool = False
    tiers: dict[str, dict[str, Any]] = field(default_factory=dict)
    why: dict[str, dict[str, Any]] = field(default_factory=dict)
    imported: dict[str, Any] = field(default_factory=dict)
    simulated: str = ""
    root: Path = Path("/")

    def system_names(self) -> tuple[str, str, str]:
        return self.kernel

    def libc_version(self) -> str:
        return self.libc

    def count_cpus(self) -> int:
        return self.count

    def allowed_cpus(self) -> frozenset[int]:
        return self.allowed

    def soft_limit(self, name: str) -> int | None:
        return self.limits[name]

    def group_names(self) -> tuple[str, ...]:
        return self.member

    def can_use(self, path: Path) -> bool:
        return "/" + path.relative_to(self.root).as_posix() not in self.closed

    def disk_space(self, folder: Path) -> Disk:
        name = "/dev/shm" if folder.as_posix().endswith("/dev/shm") else "/"
        return self.disks.get(name, Disk(500 * GIB, 900 * GIB, 1 << 24, 1 << 25))

    def python_version(self) -> tuple[str, str]:
        return self.version, self.executable

    def is_interactive(self) -> bool:
        return self.in_kernel

    def installed_packages(self) -> dict[str, str]:
        return self.installed

    def module_folder(self, name: str) -> str:
        return self.folders.get(name, "")

    def working_folder(self) -> Path:
        return self.root / "project"

    def cannot_be(self, tier: str) -> bool:
        return tier not in self.tiers and tier not in self.why

    def ask_tier(self, tier: str) -> dict[str, Any]:
        if tier in self.tiers:
            return self.tiers[tier]
        cpu = {"name": "Kunpeng-920", "count": 1, "versions": {"torch": self.installed.get("torch", "")}}
        if tier == "cpu":
            return cpu
        if tier == "cuda":
            return {"why": self.why.get(tier, NO_CUDA), "cpu": cpu, "cuda": self.imported.get("cuda", {"build": ""})}
        return {"why": self.why.get(tier, {"say": "device.why.no_cann"})}

    def import_torch(self, environ: Mapping[str, str], timeout_s: float) -> bounded.Output:
        return bounded.Output(0, json.dumps(self.imported) + "\n", "")

    def simulator_folder(self) -> str:
        return self.simulated

    def simulator_is_old(self) -> bool:
        return False


@dataclass
class Made:
    """`sourced` is the set_env.sh that the environment comes from, really sourced through bash when the tree stands.

    `late` are variables set after the process began.
    """

    process: Recorded
    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    tools: dict[str, str] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    sourced: str = ""
    late: dict[str, str] = field(default_factory=dict)
    wanted: str = "auto"

    def system(self, root: Path) -> System:
        """Writes the tree below `root` and gives what the check reads through."""
        root = root.resolve()
        for name in [*self.folders, "/project", "/dev/shm"]:
            (root / name.lstrip("/")).mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            path = root / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for name, target in self.links.items():
            path = root / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(target)
        environ = self._environment(root)
        started = "".join(f"{name}={value}\0" for name, value in environ.items())
        process = root / "proc/self/environ"
        process.parent.mkdir(parents=True, exist_ok=True)
        process.write_text(started, encoding="utf-8")
        self.process.root = root
        return System(root, {**environ, **self.late}, 20.0, self.process)

    def _environment(self, root: Path) -> dict[str, str]:
        tools = root / "recorded-tools"
        tools.mkdir(exist_ok=True)
        for name, text in self.tools.items():
            (tools / f"{name}.out").write_text(text, encoding="utf-8")
            (tools / name).write_text(f'#!/bin/sh\ncat "{tools}/{name}.out"\n')
            (tools / name).chmod(0o755)
        base = {"HOME": "/home/ma-user", "PATH": f"{tools}{os.pathsep}/usr/bin:/bin"}
        if self.sourced:
            base = cann.sourced_environment((root / self.sourced.lstrip("/")).parent, base) or base
        return {**base, **self.environ}
