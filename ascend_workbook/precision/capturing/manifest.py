"""capture.json: what a capture is and what it wrote, so that a killed or tampered one is seen as such."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage import open_storage
from ascend_workbook.storage.names import USER_OUTPUT

NAME = "capture.json"
SCHEMA = "ascend-workbook/capture/1"
#: Folder of msprobe's files, beside the manifest.
DUMP = "dump"
#: What state.py of the child wrote, a file a rank.
STATES = "state.rank*.json"
#: What collectives.py of the child wrote, a file a rank of several.
RANKS = "ranks.rank*.json"
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
        content["user_output"] = list(USER_OUTPUT)  # beside the dump: what the script printed, his words and not ours
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


def computed_in(folder: Path) -> list[str]:
    """List the formats that a capture computed in: its parameters' and those of an autocast that was on. Empty where
    the folder holds no capture that can be read."""
    try:
        about = load_manifest(folder) if folder.is_dir() else None
    except WorkbookError:  # what is wrong with it is told by who needs it
        return []
    sides = [side.get("experiment") or {} for side in about.sides.values()] if about else []
    dtypes = [str(name) for side in sides for name in side.get("dtypes") or ()]
    return dtypes + [str(dtype) for side in sides for enabled, dtype in side.get("autocast") or () if enabled]


def list_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Return every file of the dump, and of the state, with its size and SHA-256."""
    paths = sorted(
        path for path in (*(folder / DUMP).rglob("*"), *folder.glob(STATES), *folder.glob(RANKS)) if path.is_file()
    )
    return {str(path.relative_to(folder)): {"bytes": path.stat().st_size, "sha256": hash_file(path)} for path in paths}


def hash_file(path: Path) -> str:
    hasher = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            hasher.update(chunk)
    return hasher.hexdigest()


#: A capture where a whole one lies is refused, or written here below it and put in its place once it is whole. After a
#: failure its output.log stays here.
UNFINISHED = "capture.unfinished"
#: What two captures have in common where the later may replace the earlier unasked.
SAME = ("tier", "root", "script", "args")
LEFT = (
    "side.rank*.json",
    "state.rank*.json",
    "ranks.rank*.json",
    "budget.rank*.json",
    "gpulog*.json*",
    "over_limit.json",
    "dry.port",
    f".{NAME}.*.part",
    NAME,
)


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Make the folder and hold it for one capture: a second at the same time is refused before it touches anything.

    The kernel's lock on the folder itself ends with the process, however that ends, and leaves no file. Where the file
    system has no locks for folders (NFS may), nothing is held."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as other:
        os.close(handle)
        raise WorkbookError("precision.in_use", path=str(folder)) from other
    except OSError:  # no locks here
        pass
    try:
        yield
    finally:
        os.close(handle)


def choose_folder(folder: Path, about: dict[str, Any], *, force: bool) -> Path:
    """Choose where to write: `folder` itself, or beside the whole capture in it, which stays until it is replaced.

    Raises WorkbookError where that one is of another device, script or arguments, unless `force`."""
    newer = load_manifest(folder / UNFINISHED)
    if newer is not None and newer.complete:  # a whole capture was being put in its place when that was cut off
        _move_into(folder / UNFINISHED, folder)
    there = load_manifest(folder)
    whole = there is not None and there.complete
    if there is not None and whole and not force and any(there.about.get(name) != about[name] for name in SAME):
        raise WorkbookError(
            "precision.taken", path=str(folder), there=_describe_capture(there.about), wanted=_describe_capture(about)
        )
    for stale in (folder / UNFINISHED, *folder.glob(".enclosure-*")):  # of a capture that was killed: this one holds it
        shutil.rmtree(stale, ignore_errors=True)
    target = folder / UNFINISHED if whole else folder
    target.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(target)
    return target


def replace_capture(new_folder: Path, folder: Path) -> None:
    """Puts a whole capture in the place of the earlier one; its capture.json comes last. Until then `folder` says that
    it is not complete; where it is cut off meanwhile, the next capture into it ends it first."""
    if new_folder == folder:
        return
    _remove_leftovers(folder)
    Manifest(folder, False, {}).write_file()
    _move_into(new_folder, folder)


def _move_into(new_folder: Path, folder: Path) -> None:
    for path in sorted(new_folder.iterdir(), key=lambda path_below: path_below.name == NAME):
        if path.is_dir():
            shutil.rmtree(folder / path.name, ignore_errors=True)
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
