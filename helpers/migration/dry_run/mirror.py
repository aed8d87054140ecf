"""A migrated copy of a script's folder to run in: changed modules are files, everything else is a link.

So the script finds its data, configuration and other modules where it expects them, and what it writes
beside itself does not land in the user's folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.finding import Finding
from helpers.migration.closure import closure
from helpers.migration.reading.source import Source, read
from helpers.migration.reading.undecoded import Unreadable
from helpers.migration.rewrite import migrate
from helpers.migration.rewrite.work import INJECT


def migrated_texts(script: Path, mode: str = INJECT) -> tuple[dict[Path, bytes], list[Finding]]:
    """The new content of each module that changes, and the findings whose edits changed it."""
    contents: dict[Path, bytes] = {}
    made: list[Finding] = []
    for file in closure(script):
        source = _read(file, file.relative_to(script.parent).as_posix())
        text, findings = migrate(source, alone=file == script, mode=mode)
        if text != source.text:
            contents[file] = source.encode(text)
            made += findings
    return contents, made


def mirror(script: Path, folder: Path, contents: Mapping[Path, bytes]) -> Path:
    """Makes `folder` a mirror of the script's folder with `contents` in place; the script's path in it.

    The folder must be new or empty. Links to folders that hold `folder` itself are left out.
    """
    root = script.parent.resolve()
    real = {root / file.resolve().relative_to(root): data for file, data in contents.items()}
    _mirror_folder(root, folder, real, script.resolve())
    return folder / script.name


def _mirror_folder(source: Path, target: Path, contents: Mapping[Path, bytes], script: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for entry in sorted(source.iterdir()):
        there = target / entry.name
        if entry in contents:
            there.write_bytes(contents[entry])
        elif entry == script:  # a link would make Python look for modules beside the original
            there.write_bytes(entry.read_bytes())
        elif any(entry in changed.parents for changed in contents):
            _mirror_folder(entry, there, contents, script)
        elif entry.name != "__pycache__" and not target.resolve().is_relative_to(entry.resolve()):
            there.symlink_to(entry, target_is_directory=entry.is_dir())


def _read(file: Path, name: str) -> Source:
    try:
        return read(file, name)
    except Unreadable as cause:
        raise WorkbookError("MIG100.unreadable", path=str(file), **cause.told) from cause
