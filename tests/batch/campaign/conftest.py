"""Plans started here, over stand-in notebooks: one stage of each kind that a run needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

import pytest

from helpers.batch.campaign.ended import Ended, restored
from helpers.batch.campaign.run import run_all
from helpers.batch.plan.model import Item, Plan

#: (items, what else `Plan` and `run_all` take) -> how each run ended, and the lines that were told.
Start = Callable[..., "tuple[dict[str, Ended], list[str]]"]


def item(name: str, **other: Any) -> Item:
    """A run on the CPU that does what the body of this name does, up to a `-`."""
    return Item(name, ("environment",), {"device": "cpu"}, "en", **other)


@pytest.fixture
def start(notebooks: Callable[..., Path], tmp_path: Path) -> Start:
    """Below `tmp_path`/night."""

    def run(items: Sequence[Item], *, workers: int = 2, plan: dict[str, Any] | None = None, **options: Any) -> Any:
        lines: list[str] = []
        books = notebooks(environment="as_named")
        given = {"force": False, "keep_red": False, "deadline_s": 0.0, **options}
        run_all(Plan("night", tuple(items), **(plan or {})), tmp_path / "night", workers=workers, lang="en",
                notebooks=books, say_progress=lines.append, **given)  # fmt: skip
        return ended(tmp_path / "night"), lines

    return run


def ended(folder: Path) -> dict[str, Ended]:
    """As the plan's summary says."""
    runs = json.loads((folder / "summary.json").read_text())["runs"]
    return {run["name"]: restored(run) for run in runs}
