"""gpulog.json: what one process of a training run did, step by step.

Written aside and renamed, at the start, at most twice a second while steps go by, and at the end. A run that
was killed leaves `status: "running"` behind, so it is never taken for a finished one.
"""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any

SCHEMA = "ascend-workbook/gpulog/1"
WRITE_EVERY_S = 0.5


class GpuLog:
    """The log of one process. `status` is running, finished, stopped_after or failed."""

    def __init__(self, path: Path, meta: dict[str, Any]) -> None:
        self.path = path
        self.content: dict[str, Any] = {
            "schema": SCHEMA,
            "status": "running",
            "meta": meta,
            "steps": [],
            "skipped_steps": 0,
            "notes": [],
            "error": None,
        }
        self._written_at = 0.0

    @property
    def steps(self) -> list[dict[str, Any]]:
        steps: list[dict[str, Any]] = self.content["steps"]
        return steps

    def add_step(self, step: dict[str, Any]) -> None:
        """Add one step; the first reaches the disk at once, later ones within half a second."""
        self.steps.append(step)
        self.write(force=len(self.steps) == 1)

    def add_note(self, code: str, **args: object) -> None:
        """Add one remark: a code and its arguments, each pair once."""
        entry = {"code": code, "args": args}
        if entry not in self.content["notes"]:
            self.content["notes"].append(entry)

    def finish_log(self, status: str, error: dict[str, object] | None = None) -> None:
        self.content["status"] = status
        self.content["error"] = error
        self.write(force=True)

    def write(self, *, force: bool = False) -> None:
        """Replace the file whole, so that a reader never sees half of it."""
        now = time.monotonic()
        if not force and now - self._written_at < WRITE_EVERY_S:
            return
        self._written_at = now
        aside = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        aside.write_text(json.dumps(_make_plain(self.content), allow_nan=False), encoding="utf-8")
        aside.replace(self.path)


def _make_plain(value: object) -> object:
    """Return the value with NaN and infinity as the strings "nan", "inf" and "-inf", for which JSON has no numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _make_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_make_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
