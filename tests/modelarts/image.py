"""A ModelArts Notebook's image, played on this machine: the folder that is kept, the engine's conda environment and its
kernel, a base environment without an engine, packages that the image has and some that it has not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.modelarts import imitation
from tests.conftest import ROOT

KERNEL = "pytorch-2.7.1"
#: What the image says it has, whatever this machine has.
PAIR = {"torch": "2.7.1", "torch_npu": "2.7.1.post4", "numpy": "1.26.4"}
#: In no list of an image's packages: here without metadata, as if not installed.
ABSENT = ("ipywidgets", "msgspec")
#: What is ours is in no image: its metadata alone would name an entry point to papermill that is not there.
OURS = ("ascend_migration_workbook", "ascend_simulator", "ascend_course")
HERE = Path(sysconfig.get_path("purelib"))


@dataclass(frozen=True)
class Image:
    """`work` is /home/ma-user/work; `base` the Python of the environment without an engine."""

    layout: imitation.Layout
    who: imitation.Player
    work: Path
    base: Path
    wheels: Path

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """A terminal's variables; pip has the wheels here in place of an index."""
        pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels), "PIP_RETRIES": "0"}
        return {**imitation.make_environment(self.layout, imitation.notebook_starts()[0]), **pip, **(extra or {})}

    def run(
        self,
        words: Sequence[str],
        folder: Path | None = None,
        extra: Mapping[str, str] | None = None,
        limit_s: float = 300,
    ) -> subprocess.CompletedProcess[str]:
        """A command as ma-user, in work/ unless told."""
        told = self.environment(extra)
        return subprocess.run(
            self.who.make_command(words),
            cwd=folder or self.work,
            env=told,
            timeout=limit_s,
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def python(self, code: str, extra: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Code in the engine's environment, in work/."""
        return self.run([str(self.layout.python), "-c", code], extra=extra)

    def versions(self) -> dict[str, str]:
        """What pip would say of the pair."""
        code = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {list(PAIR)!r}}}))"
        found: dict[str, str] = json.loads(self.python(code).stdout)
        return found


def make(root: Path, absent: Sequence[str] = ABSENT, pair: Mapping[str, str] = PAIR) -> Image:
    """Makes it below `root`, handed over to ma-user where this user may become another: the engine's environment too,
    into which users of a Notebook install."""
    made = imitation.make_layout(root / "image")
    (made.site / "image.pth").unlink()
    _packages(made.site, (*absent, *pair))
    for name, version in pair.items():
        _metadata(made.site, name, version)
    work, wheels = made.home / "work", root / "wheels"
    work.mkdir()
    wheels.mkdir()
    _kernel(made)
    base = _base(made.home)
    who = imitation.choose_player(made)
    if who.user is not None:
        for path in (made.site, made.python.parent):
            os.chown(path, imitation.USER, imitation.GROUP)
            path.chmod(0o755)
        who = imitation.Player(who.user)
    return Image(made, who, work, base, wheels)


def _packages(site: Path, absent: Sequence[str]) -> None:
    """This environment's packages as links, without the metadata of those that are absent."""
    hidden = tuple(f"{name}-" for name in (*absent, *OURS))
    for path in HERE.iterdir():
        if path.suffix != ".pth" and not path.name.lower().startswith(hidden):
            (site / path.name).symlink_to(path)


def _metadata(site: Path, name: str, version: str) -> None:
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    (folder / "INSTALLER").write_text("conda\n", encoding="utf-8")


def _kernel(made: imitation.Layout) -> None:
    """The engine's kernel, as Jupyter of any environment of this user finds it."""
    folder = made.home / ".local" / "share" / "jupyter" / "kernels" / KERNEL
    folder.mkdir(parents=True)
    argv = [str(made.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "PyTorch-2.7.1", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")


def _base(home: Path) -> Path:
    """An environment with pip and without an engine."""
    version = ".".join(map(str, sys.version_info[:2]))
    prefix = home / "anaconda3" / "envs" / "base"
    site = prefix / "lib" / f"python{version}" / "site-packages"
    for folder in (site, prefix / "bin"):
        folder.mkdir(parents=True)
    python = prefix / "bin" / "python"
    executable = Path(getattr(sys, "_base_executable", sys.executable))
    python.symlink_to(executable)
    (prefix / "pyvenv.cfg").write_text(f"home = {executable.parent}\n", encoding="utf-8")
    for path in HERE.glob("pip*"):
        (site / path.name).symlink_to(path)
    return python


def wheel(folder: Path, name: str, version: str, needs: Sequence[str] = ()) -> Path:
    """A package with one empty module."""
    told = "".join(f"Requires-Dist: {one}\n" for one in needs)
    info, path = f"{name}-{version}.dist-info", folder / f"{name}-{version}-py3-none-any.whl"
    kind = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{told}"
    files = {f"{name}.py": "", f"{info}/METADATA": metadata, f"{info}/WHEEL": kind}
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{file},,\n" for file in (*files, f"{info}/RECORD")))
    return path


def clone(target: Path) -> Path:
    """What a git clone of this checkout would give, as far as a notebook needs it."""
    target.mkdir(parents=True)
    skipped = shutil.ignore_patterns("__pycache__", "runs", ".ipynb_checkpoints")
    for name in ("ascend_workbook", "ascend_simulator", "course", "helpers", "notebooks", "tools"):
        shutil.copytree(ROOT / name, target / name, ignore=skipped)
    for name in imitation.CODE:
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, target / name)
    shutil.copy(ROOT / "Makefile", target)
    return target
