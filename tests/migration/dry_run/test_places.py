"""Places that a side names are the user's own: file, line before the migration, and the source line."""

from __future__ import annotations

import json
from pathlib import Path

from ascend_workbook.migration.dry_run.mirror import make_mirror
from ascend_workbook.migration.dry_run.original import prepare_training
from ascend_workbook.migration.dry_run.sides import Plan, in_original, place_of


def _mirrored(script: Path, out: Path) -> tuple[Plan, Path]:
    original = prepare_training(script, (), 1)
    where = original.layout
    work = out / "target" / "work"
    make_mirror(original.script, work, original.migrate_texts("inject"), where.root, (where.cwd, *where.paths))
    return Plan(original, out, 1, 0, "python", None), work


def test_lines_that_the_migration_moved_lead_back(tmp_path: Path) -> None:
    (tmp_path / "user" / "pkg").mkdir(parents=True)
    script = tmp_path / "user" / "train.py"
    script.write_text("import os\nimport torch\nimport pkg.net\nx = torch.ones(1).cuda('cuda:0')\n1 / 0\n")
    (tmp_path / "user" / "pkg" / "net.py").write_text("y = 1\n")
    plan, work = _mirrored(script, tmp_path / "out")
    moved = (work / "train.py").read_text().splitlines().index("1 / 0") + 1
    assert moved > 5 and str(place_of(plan, "target", str(work / "train.py"), moved)) == "train.py:5"
    assert str(place_of(plan, "target", str(work / "pkg" / "net.py"), 1)) == "pkg/net.py:1"
    assert str(place_of(plan, "target", str(tmp_path / "user" / "pkg" / "net.py"), 1)) == "pkg/net.py:1"
    assert str(place_of(plan, "target", "/elsewhere/a.py", 7)) == "/elsewhere/a.py:7"
    found = in_original(plan, "target", str(work / "train.py"), moved)
    assert found is not None and plan.original.read_line(*found) == "1 / 0"


def test_a_notebooks_place_is_its_cell_and_line(tmp_path: Path) -> None:
    cells = ["import os\nimport torch", "x = torch.ones(1).cuda()\n1 / 0"]
    content = {"cells": [{"cell_type": "code", "source": code} for code in cells], "nbformat": 4}
    (tmp_path / "n.ipynb").write_text(json.dumps(content), encoding="utf-8")
    plan, work = _mirrored(tmp_path / "n.ipynb", tmp_path / "out")
    moved = (work / "n.ipynb.py").read_text().splitlines().index("1 / 0") + 1
    assert moved > 4 and str(place_of(plan, "target", str(work / "n.ipynb.py"), moved)) == "n.ipynb#cell2:2"
