"""A launch plugin: notes which low-precision types a training uses, so that its losses are judged accordingly.

Runs in the user's process by path and imports nothing of the workbook.
"""

from __future__ import annotations

from typing import Any

import torch


def attach(observer: Any, config: dict[str, object]) -> None:
    """Notes `low_precision` with the dtype once for each: autocast regions, and parameters held in half."""
    seen: set[str] = set()

    def note_low_precision(dtype: torch.dtype) -> None:
        name = str(dtype).replace("torch.", "")
        if name not in seen and name in ("float16", "bfloat16"):
            seen.add(name)
            observer.note("low_precision", dtype=name)

    enter = torch.autocast.__enter__

    def enter_autocast(self: Any) -> Any:
        if self._enabled:
            note_low_precision(self.fast_dtype)
        return enter(self)

    torch.autocast.__enter__ = enter_autocast

    def note_parameters(model: torch.nn.Module) -> None:
        for parameter in model.parameters():
            note_low_precision(parameter.dtype)

    observer.on_model(note_parameters)
