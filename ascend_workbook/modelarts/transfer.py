"""Data in and results out. The platform gives a local folder that it keeps in step with OBS, or an obs:// address.

moxing is ModelArts' own and has the job's agency for credentials; on PyPI the name belongs to something else. So it is
used where it is importable and has `file.copy_parallel`, and never installed; else ascend_workbook.storage does it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import say
from ascend_workbook.storage.transfer import download, upload

# Where a job may write: the local disk of the host.

#: ModelArts' local disk of bare-metal flavours (https://support.huaweicloud.com, ma_drawer_124).
CACHE = "/cache"
#: A training's worth of dumps does not fit into less.
LEAST_FREE_MIB = 1024.0


@dataclass(frozen=True)
class Scratch:
    """A folder of this job's own; `source` is what named the disk, `free_mib` what was free on it."""

    folder: Path
    source: str
    free_mib: float


def choose_scratch(environ: Mapping[str, str], folder_told: str = "", host: int | None = None) -> Scratch:
    """Choose the first place that can be written: the folder told, else /cache, MA_LOG_DIR, the folder for temporary
    files. `host`, where there are several, has a folder of its own: the disk may be one that they share.

    Raises WorkbookError `modelarts.scratch` where none can.
    """
    candidates = (
        [("--scratch", folder_told)]
        if folder_told
        else [(CACHE, CACHE), ("MA_LOG_DIR", environ.get("MA_LOG_DIR", "")), ("TMPDIR", tempfile.gettempdir())]
    )
    for source, place in candidates:
        if place and Path(place).is_dir() and os.access(place, os.W_OK | os.X_OK):
            folder = Path(place, f"ascend-workbook-{job_name(environ)}" + ("" if host is None else f"-host-{host}"))
            folder.mkdir(mode=0o755, exist_ok=True)
            free = os.statvfs(folder)
            return Scratch(folder, source, free.f_bavail * free.f_frsize / (1 << 20))
    raise WorkbookError("modelarts.scratch", places=[place for _, place in candidates if place])


def job_name(environ: Mapping[str, str]) -> str:
    """Return the job's name where it can be part of a path: all its processes have the same."""
    name = environ.get("MA_VJ_NAME", "")
    return name if re.fullmatch(r"[\w-]{1,100}", name, re.ASCII) else "job"


def is_remote(place: str) -> bool:
    return "://" in place


def find_moxing() -> Any | None:
    """Return ModelArts' moxing, or None."""
    if importlib.util.find_spec("moxing") is None:
        return None
    try:
        moxing = importlib.import_module("moxing")
    except ImportError:
        return None
    file = getattr(moxing, "file", None)
    whole = all(callable(getattr(file, name, None)) for name in ("copy_parallel", "list_directory"))
    return moxing if whole else None


def bring_data(place: str, into: Path) -> Path:
    """Return where the data can be read on this host: the place itself, or a copy below `into`.

    Raises WorkbookError `modelarts.no_data` where there is nothing, and what the storage raises.
    """
    if not is_remote(place):
        if not Path(place).exists():
            raise WorkbookError("modelarts.no_data", place=place)
        return Path(place)
    moxing = find_moxing()
    if moxing is None:  # checked where a manifest vouches for it; data of others has none
        received = download.receive_files(place, into, unverified=True)
        download.raise_wrong(received)
        if received.unchecked:
            print("modelarts: " + say("STO504.unchecked", None, count=received.unchecked), flush=True)
        return into
    into.mkdir(parents=True, exist_ok=True)
    moxing.file.copy_parallel(place, str(into))
    if not any(into.iterdir()):
        raise WorkbookError("modelarts.no_data", place=place)
    return into


def send_results(folder: Path, place: str) -> int:
    """Send all files of the folder to the address and return how many. With a manifest; after moxing each is looked for
    there.

    Raises WorkbookError `modelarts.not_sent` with what is missing, and what the storage raises.
    """
    moxing = find_moxing()
    if moxing is None:
        return len(upload.send_files(folder, place).files)
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    moxing.file.copy_parallel(str(folder), place)
    there = {str(name).lstrip("/") for name in moxing.file.list_directory(place, recursive=True)}
    missing = [name for name in names if name not in there]
    if missing:
        raise WorkbookError("modelarts.not_sent", count=len(missing), of=len(names), first=missing[0], place=place)
    return len(names)
