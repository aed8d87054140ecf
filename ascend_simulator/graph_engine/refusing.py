"""What the stand-in for the graph engine lacks: one error that names it."""

from __future__ import annotations

from typing import NoReturn


def refuse(what: str) -> NoReturn:
    raise NotImplementedError(f"[simulated NPU] the stand-in for CANN's graph engine lacks {what}")
