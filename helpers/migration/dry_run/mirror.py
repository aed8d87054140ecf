"""A migrated copy of the folders that a training needs to run in.

So the script finds its data, configuration and other modules where it expects them, and what it writes does not land
in the user's folder: own_files.py says what is a copy and what a link.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.finding import Finding
from helpers.migration.closure import closure
from helpers.migration.dry_run.own_files import Copies
from helpers.migration.reading.source import Source, decode, parse, read
from helpers.migration.reading.undecoded import Unreadable
from helpers.migration.rewrite import migrate
from helpers.migration.rewrite.work import INJECT


def migrated_texts(script: Path, mode: str = INJECT) -> tuple[dict[Path, bytes], list[Finding]]:
    """The new content of each module of a script's folder that changes, and the findings whose edits changed it."""
    return migrated(dict.fromkeys(closure(script)), script, script.parent, mode)


def migrated(
    modules: Mapping[Path, bytes | None], script: Path, root: Path, mode: str = INJECT
) -> tuple[dict[Path, bytes], list[Finding]]:
    """As `migrated_texts`, for modules below `root`; one that is no file of its own comes with its text."""
    contents: dict[Path, bytes] = {}
    made: list[Finding] = []
    for file, text in modules.items():
        source = _source(file, text, file.relative_to(root).as_posix())
        new, findings = migrate(source, alone=file == script, mode=mode)
        if new != source.text:
            contents[file] = source.encode(new)
            made += findings
    return contents, made


def mirror(
    script: Path, folder: Path, contents: Mapping[Path, bytes], root: Path | None = None, real: tuple[Path, ...] = ()
) -> Path:
    """Makes `folder` a mirror of `root` (the script's folder) with `contents` in place; the script's path in it.

    `folder` must be new or empty. Folders in `real` are made, not linked: a training runs or looks for modules there.
    Links to folders that hold `folder` itself are left out.
    """
    root = root or script.parent
    top = root.resolve()
    within = {top / file.relative_to(root): data for file, data in contents.items()}
    script = top / script.relative_to(root)
    if script not in within:  # a link would make Python look for modules beside the original
        within[script] = script.read_bytes()
    made = {top / path.relative_to(root) for path in real} | {file.parent for file in within}
    real_ones = {top} | made | {above for path in made for above in path.parents}
    _mirror_folder(top, folder, within, real_ones, Copies())
    return folder / script.relative_to(top)


def _mirror_folder(
    source: Path, target: Path, contents: Mapping[Path, bytes], real: set[Path], copies: Copies
) -> None:
    target.mkdir(parents=True, exist_ok=True)
    entries = {entry.name for entry in source.iterdir()} if source.is_dir() else set()
    entries |= {path.name for path in (*contents, *real) if path.parent == source}
    for entry in (source / name for name in sorted(entries)):
        there = target / entry.name
        if entry in contents:
            there.write_bytes(contents[entry])
        elif entry in real:
            _mirror_folder(entry, there, contents, real, copies)
        elif entry.name == "__pycache__" or target.resolve().is_relative_to(entry.resolve()):
            continue
        elif entry.is_dir() and copies.take_folder(entry):
            _mirror_folder(entry, there, contents, real, copies)
        elif entry.is_dir() or not copies.take_file(entry, there):
            there.symlink_to(entry, target_is_directory=entry.is_dir())


def _source(file: Path, text: bytes | None, name: str) -> Source:
    try:
        if text is None:
            return read(file, name)
        decoded, encoding, bom = decode(text)
        return parse(decoded, name, encoding=encoding, bom=bom, file=file)
    except Unreadable as cause:
        raise WorkbookError("MIG100.unreadable", path=str(file), **cause.told) from cause
