"""A migrated copy of the folders that a training needs to run in.

While the script runs it finds its data, configuration and other modules where it expects them, and what it writes does
not land in the user's folder: `Copies` says what is a copy and what a link. What is hidden or looks like a credential
is neither, and afterwards `clear_mirror` leaves the modules that ran and what the script wrote: the folder may be sent.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding
from ascend_workbook.migration.reading.source import decode_bytes, parse_text
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.rewrite import migrate_source
from ascend_workbook.migration.rewrite.change import INJECT
from ascend_workbook.storage.names import is_private

# The user's own files in a dry run: what is small is a copy in the mirror, and what is a link is watched.

#: How our own marks of results begin: no script reads them.
OWN = ".ascend-workbook"
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
    #: What the mirror holds that is the user's: copies as they were made, and folders; and what is not in it.
    taken: State = field(default_factory=dict)
    folders: set[Path] = field(default_factory=set)
    left_out: list[Path] = field(default_factory=list)

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
        self.taken |= _state_of_path(there)
        return True

    def take_folder(self, folder: Path) -> bool:
        """Whether a folder may be a real one in the mirror: small, and not a link of the user's."""
        if folder.is_symlink():
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


def migrate_modules(
    modules: Mapping[Path, bytes], script: Path, root: Path, mode: str = INJECT
) -> tuple[dict[Path, bytes], list[Finding]]:
    """Give the new content of each module that changes, a file or a text, and the findings that changed it."""
    contents: dict[Path, bytes] = {}
    applied_findings: list[Finding] = []
    for file, text in modules.items():
        try:
            decoded, encoding, bom = decode_bytes(text)
            source = parse_text(decoded, file.relative_to(root).as_posix(), encoding=encoding, bom=bom, file=file)
        except Unreadable as cause:
            raise WorkbookError("MIG100.unreadable", path=str(file), **cause.sentence_args) from cause
        new, findings = migrate_source(source, alone=file == script, mode=mode)
        if new != source.text:
            contents[file] = source.encode_text(new)
            applied_findings += findings
    return contents, applied_findings


def make_mirror(
    script: Path,
    folder: Path,
    contents: Mapping[Path, bytes],
    root: Path | None = None,
    real: tuple[Path, ...] = (),
    gone: Collection[Path] = (),
) -> tuple[Path, Copies]:
    """Make `folder` a mirror of `root` (the script's folder) with `contents` in place: the script in it, and copies.

    `folder` must be new or empty. Folders in `real` are made, not linked: a training runs or looks for modules there.
    Files in `gone` are left out.
    Links to folders that hold `folder` itself are left out."""
    root = root or script.parent
    top = root.resolve()
    within = {top / file.relative_to(root): data for file, data in contents.items()}
    script = top / script.relative_to(root)
    if script not in within:  # a link would make Python look for modules beside the original
        within[script] = script.read_bytes()
    without = {top / file.relative_to(root) for file in gone}
    made_folders = {top / path.relative_to(root) for path in real} | {file.parent for file in (*within, *without)}
    real_ones = {top} | made_folders | {above for path in made_folders for above in path.parents}
    copies = Copies()
    _mirror_folder(top, folder, within, real_ones, without, copies)
    return folder / script.relative_to(top), copies


def clear_mirror(mirror: Path, copies: Copies) -> None:
    """Take away every link, the copies that nothing has changed and folders that are empty without them."""
    for folder, folders, files in os.walk(mirror, topdown=False):
        for path in (Path(folder, name) for name in (*folders, *files)):
            if path.is_symlink() or (path in copies.taken and _state_of_path(path) == {path: copies.taken[path]}):
                path.unlink()
        if Path(folder) in copies.folders and not any(Path(folder).iterdir()):
            Path(folder).rmdir()


def _mirror_folder(
    source: Path, target: Path, contents: Mapping[Path, bytes], real: set[Path], gone: set[Path], copies: Copies
) -> None:
    target.mkdir(parents=True, exist_ok=True)
    entries = {entry.name for entry in source.iterdir()} if source.is_dir() else set()
    entries |= {path.name for path in (*contents, *real) if path.parent == source}
    for entry in (source / name for name in sorted(entries)):
        there = target / entry.name
        if entry in contents:
            there.write_bytes(contents[entry])
        elif entry in real:
            _mirror_folder(entry, there, contents, real, gone, copies)
        elif entry in gone or entry.name == "__pycache__" or target.resolve().is_relative_to(entry.resolve()):
            continue
        elif entry.name.startswith(".") or is_private(
            entry.name
        ):  # a module that the script imports is there all the same
            copies.left_out += [entry] if not entry.name.startswith(OWN) else []
        elif entry.is_dir() and copies.take_folder(entry):
            copies.folders.add(there)
            _mirror_folder(entry, there, contents, real, gone, copies)
        elif entry.is_dir() or not copies.take_file(entry, there):
            there.symlink_to(entry, target_is_directory=entry.is_dir())
