"""A plan written from a text, beside two scripts, and stand-in notebooks that are never started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

import pytest

from ascend_workbook.batch.plan.model import Plan
from ascend_workbook.batch.plan.selection import Selection, select_runs
from tests.batch.conftest import PARAMETERS

Read = Callable[..., Plan]


@pytest.fixture
def stand_ins(tmp_path: Path) -> Path:
    """Notebooks of two stages that declare the parameters of tests.batch.conftest."""
    cell = {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": PARAMETERS.splitlines(keepends=True)}
    for number, stage in enumerate(("environment", "migration"), 1):
        path = tmp_path / "notebooks" / "en" / f"{number:02}_{stage}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    for name in ("a.py", "b.py", "deep/a.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    return tmp_path


@pytest.fixture
def read(stand_ins: Path) -> Read:
    """`read(text, selection)`: the plan, wholly checked."""

    def make(text: str, selection: Selection | None = None) -> Plan:
        path = stand_ins / "plan.yaml"
        path.write_text(text, encoding="utf-8")
        return select_runs(path, selection, lang="en", notebooks=stand_ins / "notebooks")

    return make
