"""Where a training's own modules lie: in the script's folder, or in folders around it that its imports reach.

A package beside the script's folder (`tools/train.py` importing `../mypkg`), a src/ layout, folders on PYTHONPATH: what
is imported decides how much of the repository a mirror holds, and nothing further up than it has to.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.migration.closure import HOMES, walk_imports
from ascend_workbook.migration.reading.names import list_imported_names
from ascend_workbook.migration.reading.source import read_source
from ascend_workbook.migration.reading.undecoded import Unreadable

#: Mark a repository's root: nothing above it is looked at.
MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
LEVELS = 4
#: A longer text of a program is no file's name.
LONGEST_NAME = 200


@dataclass(frozen=True)
class Layout:
    """All paths are absolute. `root` is what the mirror holds; `modules` are the script and what it imports below
    the root; `paths` are folders below it where they are found beside the script's own; `outside` are modules of
    PYTHONPATH that no mirror of the root can hold."""

    root: Path
    folder: Path
    cwd: Path
    modules: tuple[Path, ...]
    paths: tuple[Path, ...] = ()
    outside: tuple[Path, ...] = ()

    @property
    def reached_modules(self) -> list[Path]:
        """The modules that do not lie in the script's folder."""
        return [module for module in self.modules if not module.is_relative_to(self.folder)]


def find_layout(
    script: Path, tree: ast.Module | None = None, cwd: Path | None = None, pythonpath: Sequence[Path] = ()
) -> Layout:
    """Find where a training's modules lie. `tree`: of a script that is no file of its own. `cwd`: where it must run, or
    None: in the script's folder, or where this process is if imports reach out of it. `pythonpath`: where modules are
    looked for as the user has it."""
    folder = script.parent
    own = (path for path in pythonpath if path.is_dir() and path != folder and "site-packages" not in path.parts)
    python_paths = [path for path in own if not any(path.glob("*.dist-info"))]  # pip's folders run as they are
    reached_folders = _reached_folders(script, tree, python_paths)
    modules = list(walk_imports(script, *python_paths, *reached_folders, tree=tree))
    around = (*python_paths, *reached_folders)
    within = [path for path in around if any(module.is_relative_to(path) for module in modules)]
    root = (_common_folder((folder, cwd)) if cwd is not None else None) or folder
    kept_paths: list[Path] = []
    for path in within:
        wider = _common_folder((root, path))
        if wider is not None:
            root, kept_paths = wider, [*kept_paths, path]
    for module in modules:  # a relative import may lead further up than any of these
        root = _common_folder((root, module.parent)) or root
    here = Path.cwd()
    where = cwd if cwd is not None else here if root != folder and here.is_relative_to(root) else folder
    inside = tuple(module for module in modules if module.is_relative_to(root))
    outside = tuple(module for module in modules if not module.is_relative_to(root))
    return Layout(root, folder, where if where.is_relative_to(root) else folder, inside, tuple(kept_paths), outside)


def find_start(script: Path, args: Sequence[str] = (), tree: ast.Module | None = None) -> Path | None:
    """Return the folder where this process is, where the script lies below it and names files that are there, and not
    beside the script (`python src/train.py`, which reads ./input); None where it runs in its own folder."""
    here, folder = Path.cwd(), script.parent
    if folder == here or not folder.is_relative_to(here) or _common_folder((here,)) is None:
        return None
    modules = [module for module in walk_imports(script, tree=tree) if module.is_relative_to(here)]
    names = {word for arg in args for word in (arg, arg.partition("=")[2])}
    for module in modules:
        names |= _list_named_files(module, tree if module == script else None)
    names = {
        name for name in names if 0 < len(name) < LONGEST_NAME and "\0" not in name and not Path(name).is_absolute()
    }
    return here if any((here / name).exists() and not (folder / name).exists() for name in names) else None


def _list_named_files(module: Path, tree: ast.Module | None) -> set[str]:
    """Return the texts of a module that read like the name of a file in a folder."""
    try:
        tree = tree if tree is not None else read_source(module).tree
    except (Unreadable, OSError):
        return set()
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if "/" in text and "\n" not in text and ".." not in Path(text).parts}


def _reached_folders(script: Path, tree: ast.Module | None, python_paths: Sequence[Path]) -> list[Path]:
    """Folders around the script where a module lies that it imports and that is found nowhere nearer."""
    folders: list[Path] = []
    around = [above / home for above in _folders_above(script.parent) for home in HOMES if (above / home).is_dir()]
    while True:
        modules = list(walk_imports(script, *python_paths, *folders, tree=tree))
        edits = any(_edits_path(module) for module in modules)
        wanted = _imported_top_names(script, tree, modules)
        fresh = None
        for name in sorted(wanted):
            if any(_holds_module(path, name) for path in (script.parent, *python_paths, *folders)):
                continue
            fresh = next((path for path in around if _holds_module(path, name)), None)
            if fresh is not None and (_is_missing(name, around) or edits):
                break
            fresh = None
        if fresh is None:
            return folders
        folders.append(fresh)


def _folders_above(folder: Path) -> list[Path]:
    """The script's folder and those above it, up to the repository's root."""
    folders: list[Path] = []
    for above in (folder, *list(folder.parents)[:LEVELS]):
        if folders and is_too_wide(above):
            break
        folders.append(above)
        if any((above / mark).exists() for mark in MARKS):
            break
    return folders


def is_too_wide(folder: Path) -> bool:
    """Return whether a folder is no one's repository: the root, a home, the folder of temporary files."""
    return folder in (Path(folder.anchor), Path.home(), Path(tempfile.gettempdir()), Path("/home"))


def _common_folder(paths: Iterable[Path]) -> Path | None:
    """The folder that holds them all; None where that is no one's repository."""
    try:
        common = Path(os.path.commonpath(list(paths)))
    except ValueError:
        return None  # of different drives
    return None if is_too_wide(common) else common


def _imported_top_names(script: Path, tree: ast.Module | None, modules: Sequence[Path]) -> set[str]:
    """The first names of what the modules import, relative imports left out."""
    names: set[str] = set()
    for module in modules:
        try:
            names |= list_imported_names(tree if tree is not None and module == script else read_source(module).tree)
        except (Unreadable, OSError):
            continue
    return {name.split(".")[0] for name in names if not name.startswith(".")}


def _holds_module(folder: Path, name: str) -> bool:
    """A module or a package, not any folder of that name."""
    if (folder / f"{name}.py").is_file():
        return True
    package = folder / name
    return package.is_dir() and any(next(package.glob(pattern), None) for pattern in ("*.py", "*/*.py"))


def _is_missing(name: str, around: Sequence[Path]) -> bool:
    """Not installed, or installed from one of these folders (`pip install -e`)."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return True
    if spec is None:
        return True
    places = [spec.origin] if spec.has_location and spec.origin else list(spec.submodule_search_locations or ())
    return any(Path(place).is_relative_to(path) for place in places for path in around if "site-packages" not in place)


def _edits_path(module: Path) -> bool:
    try:
        return b"sys.path" in module.read_bytes()
    except OSError:
        return False
