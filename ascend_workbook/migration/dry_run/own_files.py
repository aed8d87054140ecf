"""The user's own files in a dry run: what is small is a copy in the mirror, and what is a link is watched.

A training that saves over `out/ckpt.pt`, or into a folder that is there already, must not reach the user's own. A
data set is too large to copy: its files and folders are links, and one that the run has changed is told.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

#: Files up to this size are copied, as long as all of them together stay below the second figure.
LARGEST_COPY_BYTES = 64 << 20
ALL_COPIES_BYTES = 256 << 20
#: Folders with more entries than this are data; so is everything beyond so many entries in all.
ENTRIES_OF_A_FOLDER = 500
ENTRIES = 5_000
#: Size and time of the last change in nanoseconds, by path.
State = dict[Path, tuple[int, int]]


@dataclass
class Copies:
    """What may still be copied into one mirror."""

    bytes_left: int = ALL_COPIES_BYTES
    entries_left: int = ENTRIES

    def take_file(self, file: Path, there: Path) -> bool:
        """Copies a file that is small enough; False where it has to be a link."""
        try:
            size = file.stat().st_size
            if not file.is_file() or size > min(LARGEST_COPY_BYTES, self.bytes_left):
                return False
            shutil.copy2(file, there)
        except OSError:  # not readable for us: the script shall meet it where it is
            there.unlink(missing_ok=True)
            return False
        self.bytes_left -= size
        return True

    def take_folder(self, folder: Path) -> bool:
        """Whether a folder may be a real one in the mirror: small, not hidden, and not a link of the user's."""
        if folder.is_symlink() or folder.name.startswith("."):
            return False
        try:
            with os.scandir(folder) as entries:
                count = sum(1 for _, _ in zip(entries, range(ENTRIES_OF_A_FOLDER + 1)))
        except OSError:
            return False
        if count > min(ENTRIES_OF_A_FOLDER, self.entries_left):
            return False
        self.entries_left -= count
        return True


def record_state(mirror: Path) -> State:
    """Record what the links of a mirror lead to, as it is now."""
    link_state: State = {}
    for folder, folders, files in os.walk(mirror):
        for name in (*folders, *files):
            link = Path(folder, name)
            if link.is_symlink():
                link_state |= _state_of_path(link.resolve())
    return link_state


def list_changed_files(before: State) -> list[Path]:
    """List the user's own files, and folders that got or lost an entry, since `before`."""
    return sorted(path for path, was in before.items() if _state_of_path(path) != {path: was})


def _state_of_path(path: Path) -> State:
    try:
        stat = path.stat()
    except OSError:
        return {}
    return {path: (stat.st_size, stat.st_mtime_ns)}
