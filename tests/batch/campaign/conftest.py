"""Plans started here, over stand-in notebooks: one stage of each kind that a run needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable

import pytest

from ascend_workbook.batch.campaign import run
from ascend_workbook.batch.campaign.ended import NOT_RUN, Ended, load_ended
from ascend_workbook.batch.plan.model import Item, Plan


@dataclass(frozen=True)
class Start:
    """`start(items, ...)` runs them as the plan in `folder`: how each ended, and the lines that were told."""

    folder: Path
    books: Path

    def __call__(self, items: Sequence[Item], **options: Any) -> tuple[dict[str, Ended], list[str]]:
        lines: list[str] = []
        all_of(items, self.folder.parent, self.books, say_progress=lines.append, **options)
        return ended(self.folder), lines


def item(name: str, **other: Any) -> Item:
    """A run on the CPU that does what the body of this name does, up to a `-`."""
    return Item(name, ("environment",), {"device": "cpu"}, "en", **other)


@pytest.fixture
def start(notebooks: Callable[..., Path], tmp_path: Path) -> Start:
    return Start(tmp_path / "night", notebooks(environment="as_named"))


def all_of(items: Sequence[Item], root: Path, books: Path, plan: dict[str, Any] | None = None, **options: Any) -> None:
    """Runs them as the plan `night` below `root`."""
    read = Plan("night", tuple(items), **(plan or {}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "select_runs", lambda *args, **more: read)
        patch.setattr(run, "check_at_least_one", lambda **bounds: None)  # a time that is over too
        run.run_plan("night.yaml", root=root, lang="en", notebooks=books, **{"workers": 2, **options})


def ended(folder: Path) -> dict[str, Ended]:
    """As the plan's summary says, with what each run's folder keeps beside it."""
    runs = json.loads((folder / "summary.json").read_text())["runs"]
    found = {run["name"]: load_ended(folder / run["name"]) or Ended(run["name"], NOT_RUN, "Not looked") for run in runs}
    return {run["name"]: replace(found[run["name"]], state=run["state"], reused=run["reused"]) for run in runs}
