"""Where a Jupyter kernel must lie for the server to see it: kernels of a server's own environment, of the user, of all.

A ModelArts notebook's server belongs to the image, and looks neither into an environment below the kept folder nor is
its command line readable from everywhere: there the user's own folder is taken, which every server of that user reads.
Source: jupyter_core, paths.py (jupyter_path), https://docs.jupyter.org/en/latest/use/jupyter-directories.html.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.environment.installing.plan import IMAGE_WORK

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
    user = user_data_folder(environ)
    server = _find_server(proc, os.getpid())
    image = any(name.startswith(("MA_", "VC_")) for name in environ)
    searched = (
        None
        if server is None
        else {*_folders_of_variable(environ), user, server / "share" / "jupyter", *map(Path, ALL_USERS)}
    )
    data = Path(prefix or sys.prefix).absolute() / "share" / "jupyter"
    if searched is None and image:  # the image's own environment is not known: only what every server reads is sure
        searched = {*_folders_of_variable(environ), user, *map(Path, ALL_USERS)}
    if searched is not None and data not in searched and prefix is None:
        data = user
    outlives = not image or data.is_relative_to(IMAGE_WORK)
    return Place(data, None if searched is None else data in searched, outlives)


def user_data_folder(environ: Mapping[str, str]) -> Path:
    setting = environ.get("JUPYTER_DATA_DIR", "")
    home = Path(environ.get("HOME") or Path.home())
    return Path(setting) if setting.startswith("/") else home / ".local" / "share" / "jupyter"


def _folders_of_variable(environ: Mapping[str, str]) -> set[Path]:
    return {Path(entry) for entry in environ.get("JUPYTER_PATH", "").split(os.pathsep) if entry.startswith("/")}


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
