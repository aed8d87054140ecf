"""Where a job may write: the local disk of the host, and what the lead leaves there for the others to see."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from helpers.errors import WorkbookError

#: ModelArts' local disk of bare-metal flavours (https://support.huaweicloud.com, ma_drawer_124).
CACHE = "/cache"
MARK = "lead.json"
#: A training's worth of dumps does not fit into less.
LEAST_FREE_MIB = 1024.0
POLL_S = 0.2


@dataclass(frozen=True)
class Scratch:
    """A folder of this job's own; `source` is what named the disk, `free_mib` what was free on it."""

    folder: Path
    source: str
    free_mib: float

    def mark(self) -> None:
        """Says to the host's other processes that the lead has started."""
        aside = self.folder / f".{MARK}.part"
        aside.write_text(json.dumps({"pid": os.getpid(), "time": time.time()}), encoding="utf-8")
        aside.replace(self.folder / MARK)

    def lead_seen(self, since: float, limit_s: float) -> bool:
        """Whether a lead has marked this folder since then (seconds of the clock); waits for it up to the limit."""
        end = time.monotonic() + limit_s
        while True:
            if (self.folder / MARK).is_file() and (self.folder / MARK).stat().st_mtime >= since:
                return True
            if time.monotonic() >= end:
                return False
            time.sleep(POLL_S)


def choose(environ: Mapping[str, str], told: str = "") -> Scratch:
    """`told`, else /cache, else MA_LOG_DIR, else the folder for temporary files: the first that can be written.

    Raises WorkbookError `modelarts.scratch` where none can.
    """
    named = [("--scratch", told)] if told else [(CACHE, CACHE), ("MA_LOG_DIR", environ.get("MA_LOG_DIR", "")),
                                               ("TMPDIR", tempfile.gettempdir())]  # fmt: skip
    for source, place in named:
        if place and Path(place).is_dir() and os.access(place, os.W_OK | os.X_OK):
            folder = Path(place, f"ascend-workbook-{job_name(environ)}")
            folder.mkdir(mode=0o755, exist_ok=True)
            free = os.statvfs(folder)
            return Scratch(folder, source, free.f_bavail * free.f_frsize / (1 << 20))
    raise WorkbookError("modelarts.scratch", places=[place for _, place in named if place])


def job_name(environ: Mapping[str, str]) -> str:
    """The job's name where it can be part of a path: all its processes have the same."""
    name = environ.get("MA_VJ_NAME", "")
    return name if re.fullmatch(r"[\w-]{1,100}", name, re.ASCII) else "job"
