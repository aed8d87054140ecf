"""The folder of a recording: what in it is ours, and the record that says what was recorded and how it ended."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helpers.device import Device
from helpers.errors import WorkbookError
from helpers.profiling.facts import RECORD
from helpers.profiling.savings import ADVISED
from helpers.storage import open_storage

#: What child/recorder.py and the profilers below it write
OURS = re.compile(r"rank(\d+)(?:\.pt\.trace\.json|\.flops\.json|\.room\.json|_.*_ascend_pt)")
MIB = 1 << 20


def check(folder: Path) -> None:
    """Raises WorkbookError where somebody else's files lie there. Another rank may be writing the record just now."""
    others = folder.exists() and any(RECORD not in one.name for one in folder.iterdir())
    if others and not (folder / RECORD).is_file():
        raise WorkbookError("profiling.not_ours", path=str(folder), record=RECORD)


def clear(folder: Path, rank: int | None = None) -> None:
    """Removes what an earlier recording left there, of one rank or of all; other files stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in folder.iterdir():
        own = OURS.fullmatch(one.name)
        if own and (rank is None or int(own[1]) == rank):
            shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()


def begin(folder: Path, content: dict[str, Any]) -> None:
    """The record as it stands while the recording runs: what is killed leaves it so."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder, {**content, "status": "running"})


def end(folder: Path, content: dict[str, Any], *, complete: bool) -> None:
    _write(folder, {**content, "status": "complete" if complete else "failed"})


def about(found: Device, environ: Mapping[str, str]) -> dict[str, Any]:
    """What `analyse` must know and no trace tells: above all whether the device was a real one, and of the recorded
    process's environment the variables that its advice is about, empty where one is not set."""
    told = {name: environ.get(name, "") for name in ADVISED}
    return {"tier": found.tier, "device": found.name, "versions": found.versions, "environment": told}


def data_of(folder: Path, accelerator: str, rank: int) -> Path:
    """One rank's trace file or `*_ascend_pt` folder; where there is none a path that does not exist."""
    if accelerator != "npu":
        return folder / f"rank{rank}.pt.trace.json"
    return next(iter(sorted(folder.glob(f"rank{rank}_*_ascend_pt"))), folder / f"rank{rank}_ascend_pt")


def size_mib(folder: Path) -> float:
    return round(sum(one.stat().st_size for one in folder.rglob("*") if one.is_file()) / MIB, 2)


def _write(folder: Path, content: dict[str, Any]) -> None:
    open_storage(str(folder)).write_text(RECORD, json.dumps(content, ensure_ascii=False, indent=1))
