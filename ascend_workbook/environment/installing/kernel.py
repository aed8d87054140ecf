"""The environment of a Jupyter kernel that sees the NPUs, and where it must lie for the server to see it.

CANN's set_env.sh is really sourced, through bash, on a small base without this process's other variables: the spec
holds what the script sets and no key or token of the user's. Empty and relative entries of search paths are dropped:
they would be the current folder. A ModelArts notebook's server belongs to the image, and looks neither into an
environment below the kept folder nor is its command line readable from everywhere: there the user's own folder is
taken, which every server of that user reads.
Source: jupyter_core, paths.py (jupyter_path), https://docs.jupyter.org/en/latest/use/jupyter-directories.html.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine import bounded, cann, simulator

#: What CANN's script extends or asks for.
BASE = ("HOME", "USER", "LOGNAME", "PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
LISTS = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "CMAKE_PREFIX_PATH")
#: Of a ModelArts notebook the folder that is kept when it is stopped (https://support.huaweicloud.com, Notebook).
IMAGE_WORK = "/home/ma-user/work"
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
            # those of this CANN out: it may have been sourced already, and would stand there twice
            bases = {install.root, install.root.resolve()}
            entries = (Path(entry) for entry in _absolute_entries(base[name]))
            outside = (entry for entry in entries if not any(entry.is_relative_to(folder) for folder in bases))
            base[name] = os.pathsep.join(map(str, outside))
    sourced = cann.sourced_environment(install.root, base)
    if sourced is None:
        raise WorkbookError("kernelspec.sourcing", path=str(install.root))
    variables = {
        name: os.pathsep.join(_absolute_entries(value)) if name in LISTS else value
        for name, value in sourced.items()
        if value != base.get(name) and not any(word in name.upper() for word in SECRET)
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


def _absolute_entries(text: str) -> list[str]:
    return list(dict.fromkeys(entry for entry in text.split(os.pathsep) if Path(entry).is_absolute()))


SERVERS = ("jupyter", "jupyter-lab", "jupyter-notebook", "jupyter-server", "jupyterhub-singleuser")
ALL_USERS = ("/usr/local/share/jupyter", "/usr/share/jupyter")
#: More ancestors than a shell in a container has.
MOST_ANCESTORS = 32


@dataclass(frozen=True)
class Place:
    """`data` is Jupyter's data folder to write below; `seen` whether the server looks there, None: not known;
    `kept` whether it outlives a ModelArts instance."""

    data: Path
    seen: bool | None
    kept: bool


def choose_place(prefix: Path | None, environ: Mapping[str, str] = os.environ, *, proc: Path = Path("/proc")) -> Place:
    """Choose the folder of this Python's environment where the server looks there or is not known; on ModelArts, and
    where the server looks elsewhere, the user's. A `prefix` that was asked for is taken as it is."""
    setting = environ.get("JUPYTER_DATA_DIR", "")
    home = Path(environ.get("HOME") or Path.home())
    user = Path(setting) if setting.startswith("/") else home / ".local" / "share" / "jupyter"
    server = _find_server(proc, os.getpid())
    image = any(name.startswith(("MA_", "VC_")) for name in environ)
    listed = (Path(entry) for entry in environ.get("JUPYTER_PATH", "").split(os.pathsep) if entry.startswith("/"))
    always = {*listed, user, *map(Path, ALL_USERS)}
    data = Path(prefix or sys.prefix).absolute() / "share" / "jupyter"
    # where an image's own environment is not known, only what every server reads is sure
    searched = {*always, server / "share" / "jupyter"} if server else always if image else None
    if searched is not None and data not in searched and prefix is None:
        data = user
    outlives = not image or data.is_relative_to(IMAGE_WORK)
    return Place(data, None if searched is None else data in searched, outlives)


def _find_server(proc: Path, process: int) -> Path | None:
    """Return the environment of the Jupyter server that this process descends from: its interpreter's."""
    for _ in range(MOST_ANCESTORS):
        try:
            words = (proc / str(process) / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            process = int((proc / str(process) / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return None
        if Path(words[0]).is_absolute() and any(Path(word).name in SERVERS for word in words[1:3]):
            return Path(words[0]).parent.parent
    return None
