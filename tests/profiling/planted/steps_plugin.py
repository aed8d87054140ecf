"""Notes when each step of a script ends, and when other programs had the cores that its process wanted: rides in the
script's process (measure.py)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from ascend_workbook.profiling.child.line_sampler import LineSampler


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Begin with the model, write what was noted at the end."""
    if observer.rank:
        return
    sampler = LineSampler()
    ends: list[int] = []

    def write(_: str) -> None:
        sampler.stop()
        content = {"steps": ends, "delays": sampler.delays}
        Path(config["path"]).write_text(json.dumps(content), encoding="utf-8")

    observer.on_model(lambda model: sampler.start())
    observer.on_step(lambda step: ends.append(time.time_ns()))
    observer.on_end(write)
