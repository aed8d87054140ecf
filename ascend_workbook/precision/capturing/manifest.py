"""capture.json: what a capture is and what it wrote, so that a killed or tampered one is seen as such."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage import open_storage

NAME = "capture.json"
SCHEMA = "ascend-workbook/capture/1"
#: Folder of msprobe's files, beside the manifest.
DUMP = "dump"
CHUNK = 1 << 20


@dataclass(frozen=True)
class Manifest:
    """`complete` is set last, after every file was hashed. `files` maps paths below the folder to
    {"bytes", "sha256"}; `sides` holds per rank what capture_plugin.py wrote."""

    folder: Path
    complete: bool
    about: dict[str, Any]
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    sides: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def tier(self) -> str:
        return str(self.about.get("tier", ""))

    @property
    def root(self) -> Path | None:
        """The script's folder on the machine that captured."""
        return Path(str(self.about["root"])) if "root" in self.about else None

    @property
    def numerics(self) -> dict[str, str]:
        """Return the reduced formats of the first rank: {"conv": "hf32", "matmul": ""}."""
        first: dict[str, Any] = next(iter(self.sides.values()), {})
        return {str(key): str(value) for key, value in first.get("numerics", {}).items()}

    def write_file(self) -> None:
        content = {"schema": SCHEMA, **{name: value for name, value in vars(self).items() if name != "folder"}}
        open_storage(str(self.folder)).write_text(NAME, json.dumps(content, indent=1, ensure_ascii=False))

    def changed_files(self) -> list[str]:
        """Files that are missing or no longer what was written, by size first and then by content."""
        changed = []
        for name, entry in self.files.items():
            path = self.folder / name
            same = path.is_file() and path.stat().st_size == entry["bytes"] and hash_file(path) == entry["sha256"]
            changed += [] if same else [name]
        return changed


def load_manifest(folder: Path) -> Manifest | None:
    """Read the manifest in the folder; None where it is a plain msprobe dump. A broken one is an error."""
    path = folder / NAME
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["schema"] != SCHEMA:
            raise ValueError(f"schema {content['schema']!r}, expected {SCHEMA!r}")
        return Manifest(folder, bool(content["complete"]), content["about"], content["files"], content["sides"])
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise WorkbookError("precision.json_unreadable", path=str(path), error=str(cause)) from cause


def list_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Return every file of the dump with its size and SHA-256."""
    paths = sorted(path for path in (folder / DUMP).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): {"bytes": path.stat().st_size, "sha256": hash_file(path)} for path in paths}


def hash_file(path: Path) -> str:
    hasher = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            hasher.update(chunk)
    return hasher.hexdigest()


# A capture where another lies already: refused, or written beside it and put in its place once it is whole.

#: What is not yet whole, below the folder of the capture it will replace. After a failure its output.log stays here.
UNFINISHED = "capture.unfinished"
#: What two captures have in common where the later may replace the earlier unasked.
SAME = ("tier", "root", "script", "args")
LEFT = ("side.rank*.json", "budget.rank*.json", "gpulog*.json*", "over_limit.json", "dry.port", NAME)


def choose_folder(folder: Path, about: dict[str, Any], *, force: bool) -> Path:
    """Choose where to write: `folder` itself, or beside the whole capture in it, which stays until it is replaced.

    Raises WorkbookError where that one is of another device, script or arguments, unless `force`.
    """
    there = load_manifest(folder)
    whole = there is not None and there.complete
    if there is not None and whole and not force and any(there.about.get(name) != about[name] for name in SAME):
        raise WorkbookError(
            "precision.taken", path=str(folder), there=_describe_capture(there.about), wanted=_describe_capture(about)
        )
    shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
    target = folder / UNFINISHED if whole else folder
    target.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(target)
    return target


def replace_capture(new_folder: Path, folder: Path) -> None:
    """Puts a whole capture in the place of the earlier one; its capture.json comes last."""
    if new_folder == folder:
        return
    _remove_leftovers(folder)
    for path in sorted(new_folder.iterdir(), key=lambda path_below: path_below.name == NAME):
        path.replace(folder / path.name)
    new_folder.rmdir()


def _remove_leftovers(folder: Path) -> None:
    """Removes what an earlier capture left here, and nothing else."""
    for dump in (folder / DUMP, *folder.glob("dry.rank*")):
        shutil.rmtree(dump, ignore_errors=True)
    for stale in (path for pattern in LEFT for path in folder.glob(pattern)):
        stale.unlink(missing_ok=True)


def _describe_capture(about: dict[str, Any]) -> str:
    """Script, arguments and device of a capture."""
    script = Path(str(about.get("root", ""))) / str(about.get("script", "?"))
    return " ".join([str(script), *map(str, about.get("args", ())), f"({about.get('tier', '?')})"])
