"""Which files a path stands for, and what in it was not looked at."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.migration.closure import walk_imports
from ascend_workbook.migration.texts import settings
from ascend_workbook.migration.texts.lines import is_text, only_settings
from ascend_workbook.storage import saving as own_results

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
    texts: list[Path] = field(default_factory=list)
    notebooks: list[Path] = field(default_factory=list)
    #: Folders that could not be looked into, and why.
    closed: dict[str, OSError] = field(default_factory=dict)

    @property
    def scanned_files(self) -> list[Path]:
        """List every file that is scanned and rewritten, once."""
        return list(dict.fromkeys((*self.python, *self.texts, *self.notebooks)))

    def name_of(self, file: Path) -> str:
        return file.relative_to(self.root).as_posix()


def collect_files(path: str | os.PathLike[str], *, imports: bool = False) -> Tree:
    """Collect the files of a path as a Tree. Raises WorkbookError where there is none, or of no scanned kind.

    `imports`: with a script come the modules that it imports from its folder, and the texts beside it.
    """
    place = Path(path)
    if imports and place.is_file() and place.suffix in (".py", ".pyw"):
        return _collect_program(place)
    if place.is_file():
        tree = Tree(place.parent, [])
        if not _add_to_tree(tree, place, by_name=True):
            raise WorkbookError("migration.not_a_script", path=str(path))
        return tree
    if not place.is_dir():
        raise WorkbookError("migration.no_path", path=str(path))
    tree = Tree(place, [])
    for file in _walk_folder(tree):
        if _add_to_tree(tree, file):
            continue
        if file.suffix in CUDA_SOURCES:
            tree.cuda_sources.append(file)
        elif file.suffix in OTHER_KINDS:
            with suppress(OSError), file.open("rb") as stream:  # none that is scanned, whether it opens or not
                if WORDS.search(stream.read(LARGEST_BYTES)):
                    tree.others.append(file)
    return tree


def _collect_program(script: Path) -> Tree:
    tree = Tree(script.parent, [])
    modules = (file for file in walk_imports(script) if file.is_relative_to(script.parent))
    beside = (file for file in sorted(script.parent.iterdir()) if file.suffix not in (".py", ".pyw", ".ipynb"))
    for file in dict.fromkeys((*modules, *filter(_is_regular, beside))):
        _add_to_tree(tree, file)
    return tree


def _add_to_tree(tree: Tree, file: Path, *, by_name: bool = False) -> bool:
    """Puts a file that is scanned into its list; setup.py is Python and a list of requirements.

    Of settings only files that say something of GPUs are scanned, unless its kind alone decides (`by_name`)."""
    is_python = file.suffix in (".py", ".pyw")
    text = is_text(file.name)
    if text and not by_name and only_settings(file.name):
        text = settings.may_say_cuda(file)
    if is_python:
        tree.python.append(file)
    if text:
        tree.texts.append(file)
    if file.suffix == ".ipynb":
        tree.notebooks.append(file)
    return is_python or text or file.suffix == ".ipynb"


def _walk_folder(tree: Tree) -> Iterator[Path]:
    """All files in order of name; hidden folders, virtual environments, linked folders, the workbook's own results
    and what is no regular file (a pipe, a device, a link to one) are left out."""

    def note_closed(error: OSError) -> None:
        tree.closed[tree.name_of(Path(error.filename))] = error

    for folder, folders, files in os.walk(tree.root, onerror=note_closed):
        folders[:] = sorted(name for name in folders if not _is_foreign(Path(folder) / name))
        shown = [name for name in sorted(files) if not name.startswith(".") or settings.is_env(name)]
        yield from (file for name in shown if _is_regular(file := Path(folder) / name))


def _is_regular(file: Path) -> bool:
    """Whether reading it ends; what cannot be asked is told when it is read."""
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except OSError:
        return True


def _is_foreign(folder: Path) -> bool:
    hidden = folder.name.startswith(".") or folder.name.endswith(".egg-info")
    if hidden or any(_is_there(folder / mark) for mark in ("pyvenv.cfg", own_results.MARK)):
        return True
    return folder.name in SKIPPED_FOLDERS and not _is_there(folder / "__init__.py")


def _is_there(path: Path) -> bool:
    """Whether a file exists; a path that is too long for the system leads to none."""
    try:
        return path.exists()
    except OSError:
        return False
