"""The environment of one pair: made once, others, and set up as a user's is, by tools/bootstrap.py."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.versions.cpu_torch import unpack_as_cpu_build
from tools.versions.pairs import ROOT, Pair

#: What a user's set-up takes of PyTorch's CPU index; where no index has the CPU's build it is made of the CUDA wheel.
DOWNLOAD = ("--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:")


class NoEnvironment(Exception):
    """A pair's environment could not be made; the text says why."""


def folder_of(pair: Pair, cache: Path) -> Path:
    return cache / pair.torch


def python_of(venv: Path) -> Path:
    return venv / "bin" / "python"


def make_environment(pair: Pair, cache: Path) -> Path:
    """Return the pair's virtual environment with a CPU build of its torch, made unless it is there.

    Raises NoEnvironment where pip has no wheel of that torch.
    """
    venv = folder_of(pair, cache)
    if not (venv / "bin" / "pip").exists():
        cache.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    site = next(venv.glob("lib/python3*/site-packages"))
    if not list(site.glob("torch-*.dist-info")):
        put_torch(pair, site)
    return venv


def put_torch(pair: Pair, site: Path) -> None:
    """Put torch there as a CPU build; the wheel is thrown away."""
    with tempfile.TemporaryDirectory(dir=site.parents[2]) as folder:
        command = [sys.executable, "-m", "pip", "download", *DOWNLOAD, "--dest", folder, f"torch=={pair.torch}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheel = next(Path(folder).glob("torch-*.whl"), None)
        if done.returncode or wheel is None:
            raise NoEnvironment((done.stderr.strip().splitlines() or ["pip download"])[-1])
        if "+cpu" in wheel.name:
            install = [
                str(site.parents[2] / "bin" / "python"),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                str(wheel),
            ]
            subprocess.run(install, check=True)
        else:
            unpack_as_cpu_build(wheel, site)


def set_up(pair: Pair, venv: Path) -> subprocess.CompletedProcess[str]:
    """Run the set-up that a user runs, asking for this pair."""
    command = [str(python_of(venv)), str(ROOT / "tools" / "bootstrap.py"), "--venv", str(venv), "--pair", pair.torch]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=clean_environment(venv))


def clean_environment(venv: Path) -> dict[str, str]:
    """Return this process's environment with that of the pair before it, and nothing of another's."""
    theirs = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "ASCEND_WORKBOOK_SIMULATOR", "LD_LIBRARY_PATH")
    others = {
        name: text for name, text in os.environ.items() if name not in theirs and not name.startswith("ASCEND_HOME")
    }
    path = os.pathsep.join(filter(None, (str(venv / "bin"), others.get("PATH"))))
    return {**others, "PATH": path, "ASCEND_WORKBOOK_LANG": "en"}
