"""Which files a path stands for, and what in it was not looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from helpers.errors import WorkbookError

#: Folders that hold other people's code, or none.
SKIPPED_FOLDERS = {"__pycache__", "node_modules", "site-packages", "dist-packages", "venv", "env", "build", "dist"}
CUDA_SOURCES = {".cu", ".cuh"}
#: Read by people, not by us, when they mention CUDA.
OTHER_KINDS = {".ipynb", ".sh", ".toml", ".txt", ".yaml", ".yml", ".cfg", ".json"}
WORDS = re.compile(rb"cuda|nccl|nvidia|flash.attn|apex", re.IGNORECASE)
LARGEST_BYTES = 1 << 20


@dataclass(frozen=True)
class Tree:
    """What a path stands for: `root` is the folder that names are relative to."""

    root: Path
    python: list[Path]
    cuda_sources: list[Path] = field(default_factory=list)
    others: list[Path] = field(default_factory=list)

    def name(self, file: Path) -> str:
        return file.relative_to(self.root).as_posix()


def tree(path: str | os.PathLike[str]) -> Tree:
    """A file or a folder as a Tree. Raises WorkbookError where there is none, or the file is no Python."""
    place = Path(path)
    if place.is_file():
        if place.suffix not in (".py", ".pyw"):
            raise WorkbookError("migration.not_a_script", path=str(path))
        return Tree(place.parent, [place])
    if not place.is_dir():
        raise WorkbookError("migration.no_path", path=str(path))
    found = Tree(place, [])
    for file in _walk(place):
        if file.suffix in (".py", ".pyw"):
            found.python.append(file)
        elif file.suffix in CUDA_SOURCES:
            found.cuda_sources.append(file)
        elif file.suffix in OTHER_KINDS and _mentions_cuda(file):
            found.others.append(file)
    return found


def _walk(root: Path) -> Iterator[Path]:
    """All files in order of name; hidden folders, virtual environments and links are left out."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not _is_foreign(Path(folder) / name))
        yield from (Path(folder) / name for name in sorted(files) if not name.startswith("."))


def _is_foreign(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name.endswith(".egg-info") or (folder / "pyvenv.cfg").exists():
        return True
    return folder.name in SKIPPED_FOLDERS and not (folder / "__init__.py").exists()


def _mentions_cuda(file: Path) -> bool:
    with file.open("rb") as stream:
        return bool(WORDS.search(stream.read(LARGEST_BYTES)))
