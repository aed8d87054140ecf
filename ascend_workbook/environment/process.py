"""What this process and its interpreter say of themselves. `System` holds one; tests give a recorded one."""

from __future__ import annotations

import os
import platform
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any

from ascend_workbook.machine import bounded, device, simulator
from ascend_workbook.machine.packages import installed_versions

PROBE = Path(__file__).with_name("child") / "imports.py"
#: A limit that is none.
UNLIMITED = 2**63 - 1


class Process:
    """What this process really says of itself. Nothing here imports torch in this process."""

    def system_names(self) -> tuple[str, str, str]:
        """Return (system, release, machine): `Linux`, `5.15.0`, `aarch64`."""
        return platform.system(), platform.release(), platform.machine()

    def host_name(self) -> str:
        return socket.gethostname()

    def libc_version(self) -> str:
        """Return `glibc 2.35`, or an empty text where the C library is another."""
        try:
            return os.confstr("CS_GNU_LIBC_VERSION") or ""
        except (AttributeError, ValueError, OSError):
            return ""

    def count_cpus(self) -> int:
        return os.cpu_count() or 1

    def allowed_cpus(self) -> frozenset[int]:
        """Return the CPUs this process may be put on."""
        if hasattr(os, "sched_getaffinity"):
            return frozenset(os.sched_getaffinity(0))
        return frozenset(range(self.count_cpus()))

    def soft_limit(self, name: str) -> int | None:
        """Return the soft limit NOFILE, NPROC (numbers) or MEMLOCK (bytes); None where the system has no such limit."""
        if sys.platform == "win32":
            return None
        import resource

        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is None:
            return None
        soft, _ = resource.getrlimit(number)
        return UNLIMITED if soft == resource.RLIM_INFINITY else int(soft)

    def group_names(self) -> tuple[str, ...]:
        """Return the names of this user's groups: the driver gives its device files to HwHiAiUser."""
        if os.name != "posix":
            return ()
        import grp

        names = []
        for number in os.getgroups():
            try:
                names.append(grp.getgrgid(number).gr_name)
            except KeyError:
                names.append(str(number))
        return tuple(sorted(names))

    def can_use(self, path: Path) -> bool:
        """Return whether this user may read and write a device file."""
        return os.access(path, os.R_OK | os.W_OK)

    def disk_space(self, folder: Path) -> Disk:
        """Return the space of the file system that holds the folder; raises OSError where it cannot be looked at."""
        stats = os.statvfs(folder)
        return Disk(stats.f_bavail * stats.f_frsize, stats.f_blocks * stats.f_frsize, stats.f_favail, stats.f_files)

    def working_folder(self) -> Path:
        """Return the working folder: what lies in it may be imported in place of a package."""
        return Path.cwd()

    def python_version(self) -> tuple[str, str]:
        """Return (version, executable) of the interpreter that runs this, the one children are started with."""
        return platform.python_version(), sys.executable

    def is_interactive(self) -> bool:
        return hasattr(sys, "ps1") or "ipykernel" in sys.modules

    def installed_packages(self) -> dict[str, str]:
        """Return name to version of every installed distribution; names in one spelling (`torch_npu`)."""
        return installed_versions()

    def module_folder(self, name: str) -> str:
        """Return where `import name` would find a package; looking does not import it."""
        try:
            spec = util.find_spec(name)
        except (ImportError, ValueError):
            return ""
        return str(Path(spec.origin).parent) if spec and spec.origin else ""

    def cannot_be(self, tier: str) -> bool:
        """Return whether a device tier is ruled out without asking a child."""
        return device.cannot_be(tier) is not None

    def ask_tier(self, tier: str) -> dict[str, Any]:
        """Return what the tier's child answers (device_probe.py)."""
        return device.ask_tier(tier)

    def import_torch(self, environ: Mapping[str, str], timeout_s: float) -> bounded.Output:
        """Run `import torch` in a child, in this environment (child/imports.py)."""
        return bounded.run_bounded([sys.executable, str(PROBE)], env=environ, timeout_s=timeout_s)

    def simulator_folder(self) -> str:
        """Return the folder of the built simulator, or an empty text."""
        return str(simulator.simulator_location()) if simulator.is_built() else ""


@dataclass(frozen=True)
class Disk:
    """Bytes and file entries of a file system; `entries` 0: it does not count them."""

    free: int
    total: int
    free_entries: int
    entries: int
