"""The folder of a recording: what in it is ours, and the record that says what was recorded and how it ended."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.device import Device
from ascend_workbook.profiling.facts import RECORD
from ascend_workbook.profiling.savings import ADVISED
from ascend_workbook.storage import open_storage

#: What child/recorder.py and the profilers below it write
OURS = re.compile(r"rank(\d+)(?:\.pt\.trace\.json|\.flops\.json|\.room\.json|_.*_ascend_pt)")
MIB = 1 << 20


def check(folder: Path) -> None:
    """Raises WorkbookError where somebody else's files lie there. Another rank may be writing the record just now."""
    others = folder.exists() and any(RECORD not in entry.name for entry in folder.iterdir())
    if others and not (folder / RECORD).is_file():
        raise WorkbookError("profiling.not_ours", path=str(folder), record=RECORD)


def clear_recording(folder: Path, rank: int | None = None) -> None:
    """Remove what an earlier recording left there, of one rank or of all; other files stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in folder.iterdir():
        own = OURS.fullmatch(entry.name)
        if own and (rank is None or int(own[1]) == rank):
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def write_record(folder: Path, content: Mapping[str, object], status: str = "running") -> None:
    """Write the record; it says that the recording runs until it ends `complete` or `failed`: what is killed leaves it
    so."""
    folder.mkdir(parents=True, exist_ok=True)
    record = json.dumps({**content, "status": status}, ensure_ascii=False, indent=1)
    open_storage(str(folder)).write_text(RECORD, record)


def describe_run(device: Device, environ: Mapping[str, str]) -> dict[str, object]:
    """Return what `analyse` must know and no trace tells: above all whether the device was a real one, and of the
    recorded process's environment the variables that its advice is about, empty where one is not set."""
    variables = {name: environ.get(name, "") for name in ADVISED}
    return {"tier": device.tier, "device": device.name, "versions": device.versions, "environment": variables}


def size_mib(folder: Path) -> float:
    """Return the size of all files in the folder in MiB."""
    return round(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / MIB, 2)
