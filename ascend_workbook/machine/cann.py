"""Where CANN is, and the environment its set_env.sh makes. Reads files and asks bash; loads no library."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.machine import bounded

#: In the order CANN's own scripts look: the 8.5+ layout first, then the older one, then inference-only packages.
ROOTS = (
    "/usr/local/Ascend/cann",
    "/usr/local/Ascend/ascend-toolkit/latest",
    "/usr/local/Ascend/nnae/latest",
    "~/Ascend/cann",
    "~/Ascend/ascend-toolkit/latest",
)
#: What shows that a real CANN or driver is on this machine.
SIGNS = (*ROOTS, "/usr/local/Ascend/driver/version.info", "/dev/davinci_manager")
#: Variables a set_env.sh sets; what a child without CANN must not inherit.
VARIABLES = (
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_OPP_PATH",
    "ASCEND_AICPU_PATH",
    "ASCEND_WORKBOOK_SIMULATED",
)


#: Lines that hold CANN's version: the install.info files and ours, then version.cfg of either layout.
VERSION_LINES = ("version", "toolkit_running_version", "runtime_running_version", "compiler_running_version")


@dataclass(frozen=True)
class Cann:
    """An installed CANN: its root, version text (empty if not told), and whether it is the simulator."""

    root: Path
    version: str
    simulated: bool
    sourced: bool


def find_cann(environ: Mapping[str, str] = os.environ) -> Cann | None:
    """Return the CANN the environment points to, else one in a usual place that is not the simulator, else None."""
    home = environ.get("ASCEND_HOME_PATH", "")
    # a relative path is what set_env.sh leaves behind when /bin/sh sources it: no CANN
    if home and Path(home).is_absolute() and Path(home).is_dir():
        return describe_cann(Path(home), sourced=True)
    return find_installed_cann()


def find_installed_cann() -> Cann | None:
    """Return a CANN in one of the usual places, whether or not its set_env.sh was sourced."""
    roots = (Path(root).expanduser() for root in ROOTS)
    folder = next((root for root in roots if root.is_dir()), None)
    return describe_cann(folder, sourced=False) if folder else None


def describe_cann(root: Path, *, sourced: bool) -> Cann:
    """Return version and kind of a CANN from version.cfg and the *_install.info in its root, of either layout."""
    texts = [_read_text(path) for path in (root / "version.cfg", *sorted(root.glob("*-linux/ascend_*_install.info")))]
    versions = [_read_value(text, name) for name in VERSION_LINES for text in texts]
    simulated = any(_read_value(text, "simulated") == "true" for text in texts)
    return Cann(root, next(filter(None, versions), ""), simulated, sourced)


def read_components(root: Path) -> dict[str, str]:
    """Return each package's version: version.cfg (`opp_kernel_running_version`), then the *_install.info files."""
    versions: dict[str, str] = {}
    for line in _read_text(root / "version.cfg").splitlines():
        name, separator, _ = line.partition("_running_version=")
        if separator and name.strip().isidentifier():
            versions[name.strip()] = _read_value(line, f"{name.strip()}_running_version")
    for path in sorted(root.glob("*-linux/ascend_*_install.info")):
        version = _read_value(_read_text(path), "version")
        if version:
            versions[path.name[len("ascend_") : -len("_install.info")]] = version
    return {name: version for name, version in versions.items() if version}


def sourced_environment(root: Path, base: Mapping[str, str], *, timeout_s: float = 20) -> dict[str, str] | None:
    """Return what `source set_env.sh` makes of `base`, or None where there is no such script or bash fails.

    Through bash, because under /bin/sh CANN's script answers 0 and sets relative paths.
    """
    script = next((path for path in (root / "set_env.sh", root.parent / "set_env.sh") if path.is_file()), None)
    if script is None:
        return None
    command = ["bash", "-c", 'source "$1" >/dev/null 2>&1; env -0', "_", str(script)]
    try:
        done = bounded.run_bounded(command, env=base, timeout_s=timeout_s)
    except OSError:
        return None
    if done.code:
        return None
    pairs = (item.split("=", 1) for item in done.stdout.split("\0") if "=" in item)
    return {name: value for name, value in pairs if name not in ("_", "SHLVL")}


def without_simulator(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a copy of the environment without a simulated CANN's variables and entries in search paths."""
    result = dict(environ)
    home = result.get("ASCEND_HOME_PATH", "")
    simulated = bool(home) and describe_cann(Path(home), sourced=True).simulated
    for name in VARIABLES if simulated else ("ASCEND_WORKBOOK_SIMULATED",):
        result.pop(name, None)
    for name in ("LD_LIBRARY_PATH", "PYTHONPATH", "PATH"):
        entries = result.get(name, "").split(os.pathsep)
        remaining = [entry for entry in entries if not (entry and _of_simulator(entry))]
        if remaining != entries:
            result[name] = os.pathsep.join(filter(None, remaining))
            if not result[name]:
                del result[name]
    return result


def real_sign(environ: Mapping[str, str] = os.environ) -> str:
    """Return the path that shows a real CANN or driver: sourced, in a usual place, a device file; else empty."""
    home = environ.get("ASCEND_HOME_PATH", "")
    sourced = [home] if home and Path(home).is_absolute() and Path(home).is_dir() else []
    signs = (Path(sign).expanduser() for sign in (*sourced, *ROOTS, *SIGNS[-2:]))
    return str(next((sign for sign in signs if sign.exists() and not describe_cann(sign, sourced=False).simulated), ""))


def _of_simulator(entry: str) -> bool:
    """Whether this entry of a search path is a simulator's folder or lies in one, its python/ being a link or not.

    Root's folders stay in the path of a process that became another user: what may not be entered is no simulator.
    """
    path = Path(entry)
    try:
        return any(describe_cann(root, sourced=True).simulated for root in (path, path.parent, path.resolve().parent))
    except PermissionError:
        return False


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _read_value(text: str, name: str) -> str:
    """Return the value of `name=value`, freed of brackets: `runtime_running_version=[7.6:8.0.0]` gives `8.0.0`."""
    for line in text.splitlines():
        left, separator, right = line.partition("=")
        if separator and left.strip() == name:
            return right.strip().strip("[]").rpartition(":")[2]
    return ""
