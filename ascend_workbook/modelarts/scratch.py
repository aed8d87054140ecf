"""Where a job may write: the local disk of the host."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError

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
