"""Where stand-ins lie: in the run's own folder, and aside for files that the program names outside of it.

Nothing of ours is put into a user's folder. Loaded by files.py, by path. Imports nothing of the workbook.
"""

from __future__ import annotations

import builtins
import functools
import io
import itertools
import os
import pathlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: This file's frames stand between the program and what it asks; whose line it is must not change by that.
PASSES_THROUGH = True
is_there = os.path.exists
#: Where stand-ins may lie: the launch's folder with the copy of the program's, and where that copy runs.
own_folders: list[Path] = []
#: Where files are kept that the program would write outside of its own folders, once a download was made up.
_asides: list[Path] = []
#: Files that the program names outside of those, in full, and where their stand-ins lie; numbers for their names.
_moved: dict[str, str] = {}
_numbers = itertools.count()


def put_file(path: Path, content: bytes, aside: Path) -> None:
    """Write a stand-in to the run's own folder; what lies outside of it lies aside, and is opened there."""
    try:
        refuse_outside(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError:
        put_aside(path, aside).write_bytes(content)


def put_aside(path: Path, aside: Path) -> Path:
    """Let a file that the program names be one that lies aside; return which."""
    aside.mkdir(parents=True, exist_ok=True)
    other = aside.resolve() / f"{next(_numbers)}{path.suffix}"
    redirect(path, other)
    return other


def is_outside(path: Path) -> bool:
    """Return whether a path is outside of the run's own folders, or leads there by a link."""
    return not any(folder in path.resolve().parents for folder in own_folders)


def refuse_outside(path: Path) -> None:
    """Raise PermissionError for a path outside of the run's own folders: nothing of ours is put into a user's, even
    where no enclosure would stop it."""
    if is_outside(path):
        raise PermissionError(f"{path} is outside of the run's folders")


def redirect(path: Path, other: Path) -> None:
    """Let a file or a folder that the program names be another one."""
    if not _moved:
        redirect_files()
    _moved[os.path.abspath(path)] = str(other)  # noqa: PTH100


def find_other(file: Any) -> Any:
    """Return the stand-in of a file that the program names, or of what lies in a folder that has one."""
    if not isinstance(file, (str, bytes, os.PathLike)):
        return file
    name = os.path.abspath(os.fsdecode(file))  # noqa: PTH100
    for path, other in _moved.items():
        if name == path or name.startswith(f"{path}{os.sep}"):
            moved = other + name[len(path) :]
            return os.fsencode(moved) if isinstance(os.fspath(file), bytes) else moved
    return file


def keep_writes(aside: Path) -> None:
    """Keep new files out of folders of the user's, once a download was made up: the next run would take it for real."""
    if _asides:
        return
    _asides.append(aside)

    def keep_new(file: Any) -> None:
        if isinstance(file, (str, bytes, os.PathLike)) and not is_there(file):
            path = Path(os.fsdecode(file))
            if find_other(file) is file and is_outside(path):
                put_aside(path, aside)

    ordinary_open, ordinary_low, ordinary_folder = builtins.open, os.open, os.mkdir

    @functools.wraps(ordinary_open)
    def open_aside(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if {*mode} & {*"wxa"}:
            keep_new(file)
        return ordinary_open(find_other(file), mode, *args, **kwargs)

    @functools.wraps(ordinary_low)
    def open_low(path: Any, flags: int, *args: Any, **kwargs: Any) -> Any:
        if flags & os.O_CREAT and kwargs.get("dir_fd") is None and not is_temporary(path):
            keep_new(path)
        return call_redirected(ordinary_low, path, flags, *args, **kwargs)

    @functools.wraps(ordinary_folder)
    def mkdir(path: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("dir_fd") is None and not is_temporary(path):
            keep_new(path)
        call_redirected(ordinary_folder, path, *args, **kwargs)

    builtins.open = io.open = open_aside
    set_function("open", open_low)
    set_function("mkdir", mkdir)


def is_temporary(path: Any) -> bool:
    """Return whether a path lies in the folder for temporary files: compilers that the program starts look there."""
    folder = os.path.abspath(tempfile.tempdir or os.environ.get("TMPDIR") or "/tmp")  # noqa: PTH100
    return os.path.abspath(os.fsdecode(path)).startswith(f"{folder}{os.sep}")  # noqa: PTH100


def set_function(name: str, function: Callable[..., Any]) -> None:
    """Replace a function of os, also where pathlib keeps it (before Python 3.11)."""
    for known in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        if getattr(os, name) in known:
            known.add(function)
    setattr(os, name, function)
    accessor = getattr(pathlib, "_normal_accessor", None)
    if hasattr(accessor, name):
        setattr(accessor, name, function)


def call_redirected(ordinary: Callable[..., Any], file: Any, *args: Any, **kwargs: Any) -> Any:
    """Call what takes a file, unless it is relative to an open folder, with the file's stand-in."""
    return ordinary(find_other(file) if kwargs.get("dir_fd") is None else file, *args, **kwargs)


#: Functions of os that take one file, and those that take where it was and where it comes to be.
ASK = ("stat", "lstat", "listdir", "scandir", "access", "chmod", "utime", "listxattr", "getxattr", "setxattr")
CHANGE, MOVE = ("remove", "unlink", "rmdir", "truncate"), ("rename", "replace", "link")


def redirect_files() -> None:
    """Open the stand-ins of files that the program names outside of the run's folders."""

    def wrap(ordinary: Callable[..., Any]) -> Callable[..., Any]:
        return functools.wraps(ordinary)(
            lambda file=".", *args, **kwargs: call_redirected(ordinary, file, *args, **kwargs)
        )

    def wrap_move(ordinary: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(ordinary)
        def move(source: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("src_dir_fd") is not None or kwargs.get("dst_dir_fd") is not None:
                return ordinary(source, target, *args, **kwargs)
            other, place = find_other(source), Path(os.fsdecode(target))
            is_made = other is not source or _asides and not is_outside(Path(os.fsdecode(source)))
            if is_made and find_other(target) is target and is_outside(place):  # not over a file of the user's
                put_aside(place, own_folders[0] / "stand_ins")
            return ordinary(other, find_other(target), *args, **kwargs)

        return move

    builtins.open = io.open = wrap(builtins.open)
    for names, wrapper in ((ASK, wrap), (CHANGE, wrap), (MOVE, wrap_move)):
        for name in names:
            if hasattr(os, name):
                set_function(name, wrapper(getattr(os, name)))
    for name in ("exists", "isfile", "isdir", "getsize"):
        setattr(os.path, name, wrap(getattr(os.path, name)))
