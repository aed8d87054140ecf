"""The environment of a Jupyter kernel that sees the NPUs, by really sourcing CANN's set_env.sh through bash.

The script runs on a small base without this process's other variables, so the spec holds what the script sets and no
key or token of the user's. Empty and relative entries of search paths are dropped: they would be the current folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import bounded, cann, simulator

#: What CANN's script extends or asks for.
BASE = ("HOME", "USER", "LOGNAME", "PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
LISTS = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "CMAKE_PREFIX_PATH")
SECRET = ("KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH")
SIGHT = "import torch; npu = getattr(torch, 'npu', None); print('NPUS', npu.device_count() if npu else 0)"
TIMEOUT_S = 120.0


def kernel_environment(
    environ: Mapping[str, str] = os.environ, roots: tuple[Path, ...] = (), *, device: str = "auto"
) -> tuple[dict[str, str], bool]:
    """Return (what the kernel must set, whether it is the simulator's). `roots` are CANNs to take first, else
    cann.find.

    `device` is auto, npu (a CANN; the simulator is none) or npu-simulated. Raises WorkbookError `device.absent`,
    `kernelspec.no_cann`, `kernelspec.sourcing`, and where the simulator is asked for simulator.environment's.
    """
    if device == "npu-simulated":
        return _simulator_environment(), True
    clean = cann.without_simulator(environ)
    install = cann.describe_cann(roots[0], sourced=False) if roots else cann.find_cann(clean)
    if install is None:
        if device == "npu":
            raise WorkbookError("device.absent", wanted=device, why=Sentence("device.why.no_cann"))
        if not simulator.is_built():
            raise WorkbookError("kernelspec.no_cann")
        return _simulator_environment(), True
    base = {name: clean[name] for name in BASE if clean.get(name)}
    for name in LISTS:
        if name in base:
            base[name] = os.pathsep.join(_entries_outside(base[name], install.root))
    sourced = cann.sourced_environment(install.root, base)
    if sourced is None:
        raise WorkbookError("kernelspec.sourcing", path=str(install.root))
    changed = {name: value for name, value in sourced.items() if value != base.get(name) and not _is_secret(name)}
    variables = {
        name: os.pathsep.join(_absolute_entries(value)) if name in LISTS else value for name, value in changed.items()
    }
    if not Path(variables.get("ASCEND_HOME_PATH", "")).is_absolute():
        raise WorkbookError("kernelspec.sourcing", path=str(install.root))
    return {name: value for name, value in variables.items() if value and name not in ("PWD", "OLDPWD")}, False


def _simulator_environment() -> dict[str, str]:
    """Return the simulator's environment over the two lists that this process has."""
    names = ("LD_LIBRARY_PATH", "PYTHONPATH")
    return simulator.simulator_environment(base={name: os.environ[name] for name in names if os.environ.get(name)})


def count_visible_npus(environment: Mapping[str, str]) -> Scalar:
    """Return how many NPUs a process sees that begins with this environment, or why it could not be told."""
    base = {name: os.environ[name] for name in ("HOME", "PATH", "LANG") if name in os.environ}
    try:
        done = bounded.run_bounded([sys.executable, "-c", SIGHT], env={**base, **environment}, timeout_s=TIMEOUT_S)
    except OSError as error:
        return explain_os_error(error)
    if done.timed_out:
        return f"> {TIMEOUT_S:g} s"
    words = done.stdout.split()
    return int(words[-1]) if words[-2:-1] == ["NPUS"] and done.code == 0 else done.last_error


def _entries_outside(text: str, root: Path) -> list[str]:
    """Return the entries that are not of this CANN: it may have been sourced already, and would stand there twice."""
    bases = {root, root.resolve()}
    return [entry for entry in _absolute_entries(text) if not any(Path(entry).is_relative_to(base) for base in bases)]


def _absolute_entries(text: str) -> list[str]:
    return list(dict.fromkeys(entry for entry in text.split(os.pathsep) if Path(entry).is_absolute()))


def _is_secret(name: str) -> bool:
    return any(word in name.upper() for word in SECRET)
