"""The machine as files, tools, variables and what this process says of itself. Tests give recorded ones."""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import util
from pathlib import Path
from typing import Any, TypeVar, Union

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.machine import bounded, device, simulator
from ascend_workbook.machine.packages import installed_versions

PROBE = Path(__file__).with_name("child") / "imports.py"
#: A limit that is none.
UNLIMITED = 2**63 - 1
VARIABLES = Path(__file__).with_name("variables.json")


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

    def simulator_is_old(self) -> bool:
        """Return whether the build does not fit its sources, torch or torch_npu; what cannot be told is not old."""
        try:
            return simulator.is_built() and not simulator.is_current()
        except WorkbookError:
            return False


@dataclass(frozen=True)
class Disk:
    """Bytes and file entries of a file system; `entries` 0: it does not count them."""

    free: int
    total: int
    free_entries: int
    entries: int


PROJECT = Path(__file__).resolve().parents[2]
Value = TypeVar("Value")
#: Arguments of a finding's sentence.
Args = dict[str, Scalar]


@dataclass(frozen=True)
class Untold:
    """A fact that could not be told, and why; `key` and `args` make the sentence."""

    key: str
    args: dict[str, Scalar] = field(default_factory=dict)


Told = Union[Value, Untold]


def read_variables(kind: str) -> tuple[str, ...]:
    """Return names of variables: what a report may show, what a job is described by, or what makes a rank of one."""
    names: dict[str, list[str]] = json.loads(VARIABLES.read_text(encoding="utf-8"))
    return tuple(names[kind])


def require_fact(value: Told[Value]) -> Value:
    """Return the value; where it could not be told, the rule that asks becomes Not looked with the reason."""
    if isinstance(value, Untold):
        raise CannotCheck(value.key, **value.args)
    return value


def shorten_path(path: str) -> str:
    """Return a path as a report shows it: short below the project or the home folder. Facts keep it whole."""
    bases = ((PROJECT, ""), (Path.home(), "~/")) if (PROJECT / "pyproject.toml").is_file() else ((Path.home(), "~/"),)
    for base, prefix in bases:
        if Path(path).is_absolute() and Path(path).is_relative_to(base):
            return prefix + Path(path).relative_to(base).as_posix()
    return path


@dataclass(frozen=True)
class System:
    """`root` stands before every path read; tools are looked up on the PATH of `environ`.

    Everything the check learns comes through here: files, tools, variables, and what `process` says.
    """

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    timeout_s: float = 10.0
    process: Process = field(default_factory=Process)

    def path_of(self, name: str) -> Path:
        return self.root / name.lstrip("/")

    def name_of(self, path: Path) -> str:
        """Return the name on the machine of a path under the root."""
        return "/" + path.relative_to(self.root.resolve()).as_posix() if self.root != Path("/") else str(path)

    def read_file(self, name: str) -> Told[str]:
        """Read the text of a file in /proc, /sys or /etc."""
        try:
            return self.path_of(name).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            return Untold("untold.file", {"path": name, "error": explain_os_error(error)})

    def text_or_empty(self, name: str) -> str:
        """Read a file that need not exist; an empty text where there is none."""
        text = self.read_file(name)
        return "" if isinstance(text, Untold) else text

    def glob_names(self, pattern: str) -> list[str]:
        """Return absolute names (without the root) that match, sorted."""
        paths: Iterable[Path] = self.root.glob(pattern.lstrip("/"))
        return sorted("/" + path.relative_to(self.root).as_posix() for path in paths)

    def find_tool(self, tool: str) -> str | None:
        return shutil.which(tool, path=self.environ.get("PATH"))

    def run_tool(self, name: str, *args: str) -> Told[bounded.Output]:
        """Run a tool of the PATH with a time limit and plain English output."""
        program = self.find_tool(name)
        if program is None:
            return Untold("untold.no_tool", {"tool": name})
        try:
            done = bounded.run_bounded(
                [program, *args], env={**self.environ, "LC_ALL": "C", "LANG": "C"}, timeout_s=self.timeout_s
            )
        except OSError as error:
            return Untold("untold.tool", {"tool": name, "error": explain_os_error(error)})
        if done.timed_out:
            return Untold("untold.timeout", {"tool": name, "seconds": f"{self.timeout_s:g}"})
        return done
