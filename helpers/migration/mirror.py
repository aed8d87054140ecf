"""A migrated copy of a script's folder to run in: changed modules are files, everything else is a link.

So the script finds its data, configuration and other modules where it expects them, and what it writes
beside itself does not land in the user's folder.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from helpers.errors import WorkbookError
from helpers.finding import Finding
from helpers.migration.entry import needs_import
from helpers.migration.rewrite import INJECT, migrate
from helpers.migration.source import Source, Unreadable, read


def closure(script: Path) -> list[Path]:
    """The script and the modules of its own folder that it imports, directly or not, in order of discovery."""
    root, found, todo = script.parent, [script], [script]
    while todo:
        for module in _local_imports(todo.pop(), root):
            if module not in found:
                found.append(module)
                todo.append(module)
    return found


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


def is_migrated(script: Path) -> bool:
    """The script imports transfer_to_npu already, or uses no torch at all."""
    return not needs_import(_read(script, script.name), alone=True)


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


def _local_imports(file: Path, root: Path) -> Iterator[Path]:
    try:
        tree = read(file).tree
    except Unreadable:
        return  # migrated_texts reads it again and says so
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield from _modules(root, name.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            base = root
            for _ in range(node.level):
                base = file.parent if base is root and node.level else base.parent
            parts = (node.module or "").split(".") if node.module else []
            for name in node.names:
                yield from _modules(base, [*parts, name.name])


def _modules(base: Path, parts: list[str]) -> Iterator[Path]:
    """The packages on the way to a dotted name, and the module itself, as far as they are files."""
    place = base
    for part in parts:
        if (place / f"{part}.py").is_file():
            yield place / f"{part}.py"
            return
        place = place / part
        if (place / "__init__.py").is_file():
            yield place / "__init__.py"
        elif not place.is_dir():
            return


def _read(file: Path, name: str) -> Source:
    try:
        return read(file, name)
    except Unreadable as cause:
        raise WorkbookError("migration.unreadable", path=str(file), line=cause.line, error=cause.error) from cause
