"""Data in and results out. The platform gives a local folder that it keeps in step with OBS, or an obs:// address.

moxing is ModelArts' own and has the job's agency for credentials; on PyPI the name belongs to something else. So it is
used where it is importable and has `file.copy_parallel`, and never installed; else ascend_workbook.storage does it.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import say
from ascend_workbook.storage.transfer import download, upload


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
