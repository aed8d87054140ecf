"""The image's folders below a temporary one: home of ma-user, a conda environment, the code directory, /cache.

Source: https://support.huaweicloud.com, ma_drawer_124 (users and mounts), develop-modelarts-0104; the environments'
places as users' scripts show them.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.environment.system import PROJECT

CONDA = "anaconda3/envs/PyTorch-2.7.1"
SUDO = "sudo-called"
#: What a job needs of the project; tests, notebooks' outputs and benchmarks stay behind.
CODE = (
    "ascend_workbook",
    "ascend_simulator",
    "helpers",
    "tools/bootstrap.py",
    "modelarts_job.py",
    "pyproject.toml",
    "requirements.txt",
    "requirements-torch.txt",
)


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
    for name in CODE:
        _copy_path(PROJECT / name, layout.code / name)
    if script is not None:
        target = layout.code / script[0]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(script[1], target)
    _make_environment(layout)
    (layout.inputs / "sample.txt").write_text("1\n", encoding="utf-8")
    return layout


def _make_environment(layout: Layout) -> None:
    """Make a Python whose prefix is the conda environment and which has the packages of this one, and a sudo that tells
    on us.
    """
    base = Path(getattr(sys, "_base_executable", sys.executable))
    layout.python.symlink_to(base)
    (layout.home / CONDA / "pyvenv.cfg").write_text(f"home = {base.parent}\n", encoding="utf-8")
    places = [entry for entry in sys.path if entry.endswith("-packages")]
    (layout.site / "image.pth").write_text("".join(f"{place}\n" for place in places), encoding="utf-8")
    sudo = layout.python.with_name("sudo")
    sudo.write_text(f"#!/bin/sh\necho \"$@\" >> '{layout.root / 'logs' / SUDO}'\nexit 1\n", encoding="utf-8")
    sudo.chmod(0o755)


def was_sudo_called(layout: Layout) -> bool:
    return (layout.root / "logs" / SUDO).exists()


def _copy_path(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "native"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def hand_over(layout: Layout, user: int, group: int) -> None:
    """Hand over to ma-user what is ma-user's; the conda environment stays another's and cannot be written."""
    for folder in (layout.home, layout.cache, layout.root / "logs"):
        for path in (folder, *folder.rglob("*")):
            os.chown(path, user, group, follow_symlinks=False)
    for path in (layout.site, layout.python.parent):
        os.chown(path, 0, 0)
        path.chmod(0o555)
    layout.root.chmod(0o755)
