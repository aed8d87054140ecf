"""Locks that end with the processes that hold them, however those end: flock(2) on a file."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

#: Seconds between tries where a lock is waited for.
AGAIN_S = 0.1


def take_lock(path: Path, *, mode: int = 0o644) -> int | None:
    """Take a lock and return the descriptor that holds it until it and its copies in children are closed. None where
    another has it.

    The file stays, with `mode` whatever the umask is. It is opened without following a link. Raises OSError where it
    cannot be made.
    """
    handle = _open_lock_file(path, mode)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except BaseException:
        os.close(handle)
        raise
    return handle


def _open_lock_file(path: Path, mode: int) -> int:
    """Open the lock file, and create it only where it is not there. Linux opens no other user's file with O_CREAT in a
    folder of all users (fs.protected_regular of proc(5))."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        pass
    try:
        handle = os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:  # another made it in between
        return os.open(path, flags)
    os.fchmod(handle, mode)
    return handle


def wait_for_lock(path: Path, ends: Callable[[], object]) -> int | None:
    """Take a lock once it is free and return its descriptor; None where `ends` says so before."""
    handle = take_lock(path)
    while handle is None and not ends():
        time.sleep(AGAIN_S)
        handle = take_lock(path)
    return handle


def sign_lock(handle: int, text: str) -> None:
    """Write into the locked file who holds it."""
    os.ftruncate(handle, 0)
    os.pwrite(handle, text.encode("utf-8"), 0)
