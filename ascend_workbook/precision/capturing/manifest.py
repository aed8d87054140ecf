"""capture.json: what a capture is and what it wrote, so that a killed or tampered one is seen as such."""

from __future__ import annotations

import hashlib
import json
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
        content = {
            "schema": SCHEMA,
            "complete": self.complete,
            "about": self.about,
            "files": self.files,
            "sides": self.sides,
        }
        open_storage(str(self.folder)).write_text(NAME, json.dumps(content, indent=1, ensure_ascii=False))

    def changed_files(self) -> list[str]:
        """Files that are missing or no longer what was written, by size first and then by content."""
        return [name for name, entry in self.files.items() if not _is_unchanged(self.folder / name, entry)]


def load_manifest(folder: Path) -> Manifest | None:
    """Read the manifest in the folder; None where it is a plain msprobe dump. A broken one is an error. A broken one is
    an error.
    """
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


def _is_unchanged(path: Path, entry: dict[str, Any]) -> bool:
    return path.is_file() and path.stat().st_size == entry["bytes"] and hash_file(path) == entry["sha256"]
