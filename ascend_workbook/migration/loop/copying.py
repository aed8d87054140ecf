"""A whole copy of the user's repository: which files it has, and each as it is, byte for byte.

What git tracks or would track is copied; what it ignores (data sets, results) stays where it is, and a dry run finds it
there. Of a folder that is no repository everything is taken but environments and caches. Files whose names are those of
credentials, and large ones, are left out where git does not track them already.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.migration.dry_run.mirror import LARGEST_COPY_BYTES
from ascend_workbook.migration.loop.git import run_git
from ascend_workbook.storage import saving as own_results
from ascend_workbook.storage.names import is_private

#: Of a folder that is no repository these are no part of it.
LEFT = {"__pycache__", "node_modules", ".git", ".hg", ".svn", ".ipynb_checkpoints", ".venv", "venv"}
#: So much is copied in all; beyond it a folder is data, and the user is asked.
MOST_BYTES, MOST_FILES = 2 << 30, 100_000


@dataclass
class Files:
    """`names` are relative to `root`; what was left out and why is said by the report."""

    root: Path
    names: list[str] = field(default_factory=list)
    private: list[str] = field(default_factory=list)
    large: list[str] = field(default_factory=list)
    #: Folders of submodules whose files are not taken.
    modules: list[str] = field(default_factory=list)

    def list_leading_out(self) -> list[str]:
        """List the links that lead out of the copy: to what is not taken along, or by a whole path to the original."""
        held = {above.as_posix() for name in self.names for above in (Path(name), *Path(name).parents)}
        return [name for name in self.names if (self.root / name).is_symlink() and not self._leads_within(name, held)]

    def _leads_within(self, name: str, held: set[str]) -> bool:
        text = (self.root / name).readlink()
        there = Path(os.path.normpath(Path(name).parent / text))
        return not text.is_absolute() and there.as_posix() in held

    def hash_state(self) -> str:
        """Hash what the copy was made of: names, kinds and contents."""
        total = hashlib.sha256()
        for name in self.names:
            path = self.root / name
            content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            mode = "link" if path.is_symlink() else f"{bool(path.stat().st_mode & stat.S_IXUSR)}"
            total.update(b"\0".join((os.fsencode(name), mode.encode(), hashlib.sha256(content).digest())))
        return total.hexdigest()


def list_files(root: Path, *, repository: bool, without: Iterable[Path] = (), submodules: bool = True) -> Files:
    """List the files of a repository, or of a folder that is none; folders in `without` are none of it."""
    files = Files(root)
    left_out = [path.resolve() for path in without]
    total = 0
    for name, tracked in sorted(set(_list_names(root, repository, submodules=submodules))):
        path = root / name
        if name.endswith("/"):
            files.modules.append(name)
            continue
        if any(path.absolute().is_relative_to(folder) for folder in left_out) or name in files.names[-1:]:
            continue
        try:
            info = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue  # deleted in the working tree
        except OSError as cause:
            raise WorkbookError("command.file", path=str(path), error=explain_os_error(cause)) from cause
        if not (stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)):
            continue
        if not tracked and is_private(name):
            files.private.append(name)
        elif not tracked and stat.S_ISREG(info.st_mode) and info.st_size > LARGEST_COPY_BYTES:
            files.large.append(name)
        else:
            files.names.append(name)
            total += info.st_size
    if total > MOST_BYTES or len(files.names) > MOST_FILES:
        raise WorkbookError("loop.too_large", path=str(root), files=len(files.names), gib=round(total / (1 << 30), 1))
    return files


def _list_names(
    root: Path, repository: bool, below: str = "", *, submodules: bool = True
) -> Iterator[tuple[str, bool]]:
    """Yield each name with whether git tracks it; a repository within (a submodule) is walked as part of it."""
    if not repository:
        yield from ((below + name, False) for name in _walk(root))
        return
    entries = [entry.partition(" ") for entry in run_git(root, "ls-files", "-z", "-t", "--cached").split("\0")]
    _refuse_sparse(root, [name for tag, _, name in entries if tag == "S"])
    tracked = [name for _, _, name in entries]
    others = run_git(root, "ls-files", "-z", "--others", "--exclude-standard").split("\0")
    for name, is_tracked in (*((name, True) for name in tracked), *((name, False) for name in others)):
        path = root / name
        if name and path.is_dir() and not path.is_symlink():
            folder = f"{below}{name.rstrip('/')}/"
            if submodules or not is_tracked:
                yield from _list_names(path, (path / ".git").exists(), folder)
            else:
                yield folder, True
        elif name:
            yield below + name, is_tracked


def _refuse_sparse(root: Path, skipped: Iterable[str]) -> None:
    """Refuse a repository with files that git does not check out: a copy without them would have them deleted."""
    missing = [name for name in skipped if not os.path.lexists(root / name)]
    if missing:
        raise WorkbookError("loop.sparse", path=str(root), files=len(missing), name=missing[0])


def _walk(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        linked = [name for name in folders if (here / name).is_symlink()]
        folders[:] = sorted(name for name in folders if name not in linked and not _is_no_part(here / name))
        yield from ((here / name).relative_to(root).as_posix() for name in (*linked, *files))


def _is_no_part(folder: Path) -> bool:
    return folder.name in LEFT or any((folder / mark).exists() for mark in ("pyvenv.cfg", own_results.MARK))


def copy_files(files: Files, target: Path) -> None:
    """Copy the files: links as links, with their bits that say a file can be run. Raises WorkbookError."""
    for name in files.modules:
        (target / name).mkdir(parents=True, exist_ok=True)
    for name in files.names:
        there = target / name
        there.parent.mkdir(parents=True, exist_ok=True)
        try:
            if (files.root / name).is_symlink():
                there.symlink_to((files.root / name).readlink())
            else:
                shutil.copy2(files.root / name, there)
                there.chmod(stat.S_IMODE(there.stat().st_mode) | stat.S_IWUSR)
        except OSError as cause:
            path = str(files.root / name)
            raise WorkbookError("command.file", path=path, error=explain_os_error(cause)) from cause


def is_own_file(root: Path, name: str) -> bool:
    """Return whether a name leads to a regular file below the root, over no link: it may be written."""
    path = root / name
    return path.is_file() and path.resolve() == root.resolve() / name
