"""Reads gpulog.json back and checks it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError

SCHEMA = "ascend-workbook/gpulog/1"
STATUSES = ("running", "finished", "stopped_after", "failed")


@dataclass(frozen=True)
class Step:
    """One training step. `step` counts from 1; a value that was not measured is None.

    loss: see ascend_workbook.machine.launch; lr: of the first parameter group before the update; grad_norm: L2, before
    the update; time_s: since the end of the step before (the first: since the first forward); updates: one entry per
    optimiser where a step has several.
    """

    step: int
    loss: float | None
    lr: float | None
    grad_norm: float | None
    time_s: float
    micro_batches: int = 1
    updates: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class RunLog:
    """What one process did. A log whose process was killed has the status `running` and is not complete."""

    path: Path
    status: str
    meta: Mapping[str, Any]
    steps: tuple[Step, ...]
    skipped_steps: int = 0
    notes: tuple[Mapping[str, Any], ...] = ()
    error: Mapping[str, Any] | None = None

    @property
    def complete(self) -> bool:
        return self.status in ("finished", "stopped_after")

    @property
    def losses(self) -> list[float | None]:
        return [step.loss for step in self.steps]

    @classmethod
    def load_log(cls, path: Path) -> RunLog:
        """Read a log. Raises WorkbookError `launch.log_unreadable` where the file is absent, broken or of another
        schema.
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["schema"] != SCHEMA:
                raise ValueError(f"schema {content['schema']!r}, expected {SCHEMA!r}")
            if content["status"] not in STATUSES:
                raise ValueError(f"status {content['status']!r}, expected one of {STATUSES}")
            steps = tuple(_make_step(entry) for entry in content["steps"])
            if [step.step for step in steps] != list(range(1, len(steps) + 1)):
                raise ValueError("steps are not numbered 1, 2, 3, ...")
            return cls(
                path,
                content["status"],
                content["meta"],
                steps,
                content["skipped_steps"],
                tuple(content["notes"]),
                content["error"],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = f"{type(error).__name__}: {error}"
            raise WorkbookError("launch.log_unreadable", path=str(path), why=why) from error


def _make_step(entry: Mapping[str, Any]) -> Step:
    updates = tuple({**update, **_read_numbers(update)} for update in entry.get("updates", ()))
    numbers = _read_numbers(entry)
    return Step(
        int(entry["step"]),
        numbers["loss"],
        numbers["lr"],
        numbers["grad_norm"],
        float(entry["time_s"]),
        int(entry["micro_batches"]),
        updates,
    )


def _read_numbers(entry: Mapping[str, Any]) -> dict[str, float | None]:
    """Return an entry's numbers; "nan", "inf" and "-inf" are written as strings, as JSON has no such numbers."""
    return {name: None if entry[name] is None else float(entry[name]) for name in ("loss", "lr", "grad_norm")}
