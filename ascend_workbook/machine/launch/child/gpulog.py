"""gpulog.json: what one process of a training run did, step by step.

Written aside and renamed, at the start, at most twice a second while steps go by, and at the end. A run that
was killed leaves `status: "running"` behind, so it is never taken for a finished one.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

SCHEMA = "ascend-workbook/gpulog/1"
WRITE_EVERY_S = 0.5


class GpuLog:
    """The log of one process. `status` is running, finished, stopped_after or failed."""

    def __init__(self, path: Path, meta: dict[str, Any], secrets: Iterable[str] = ()) -> None:
        self.path = path
        self.secrets = [json.dumps(secret)[1:-1] for secret in secrets]
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

    @property
    def steps_done(self) -> int:
        return len(self.steps) or int(self.content.get("steps_done", 0))

    def count_step(self) -> None:
        """Count a step that is not listed: a long run's log stays small."""
        self.content["steps_done"] = self.steps_done + 1
        self.write(force=self.content["steps_done"] == 1)

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
        text = json.dumps(_make_plain(self.content), allow_nan=False)
        for secret in self.secrets:
            text = text.replace(secret, "***")
        aside.write_text(text, encoding="utf-8")
        aside.replace(self.path)


def find_values(args: Sequence[str], shown: Sequence[str], names: Iterable[str]) -> set[str]:
    """Return the secrets that this process was handed: what of its arguments is not shown, and variables of the names.

    Plain words and numbers are left out: a log has them anyway.
    """
    values = {os.environ.get(name, "") for name in names}
    for word, as_shown in zip(args, shown):
        match = re.fullmatch("(.+)".join(map(re.escape, as_shown.split("***"))), word, re.DOTALL)
        values.update(match.groups() if match else ())
    plain = re.compile(r"[a-z_]{0,10}|[A-Z_]{0,10}|.{0,5}|[-+\d.eE]*|/.*", re.DOTALL)
    return {value for value in values if not plain.fullmatch(value)}


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
