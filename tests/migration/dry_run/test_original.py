"""A notebook as a script: its lines lead back to the cells, and what does not run is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.migration.dry_run.original import cell_script, prepare_training

CELLS = (
    "%%bash\npip install x",
    "import torch\n!nvidia-smi \\\n  -L\n%matplotlib inline\nimport written",
    "%%time\n%time x = 1\n损失 = x",
    "%%writefile written.py\nimport torch\nx = torch.ones(1).cuda('cuda:0')\n",
    "%%writefile ../out.py\nx = 1\n",
    "x = (\n",
    "y = 2",
)


def _notebook(folder: Path, cells: tuple[str, ...] = CELLS, language: str = "python") -> Path:
    made = [{"cell_type": "markdown", "metadata": {}, "source": ["# 训练"]}]
    made += [{"cell_type": "code", "metadata": {}, "source": code.splitlines(keepends=True)} for code in cells]  # type: ignore[dict-item]
    file = folder / "train.ipynb"
    content = {"cells": made, "metadata": {"language_info": {"name": language}}, "nbformat": 4}
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def test_lines_lead_back_to_the_cells(tmp_path: Path) -> None:
    script = cell_script(_notebook(tmp_path))
    at = {line: str(script.place_of_line(number)) for number, line in enumerate(script.text.splitlines(), 1)}
    assert at["import torch"] == "train.ipynb#cell3:1" and at["import written"] == "train.ipynb#cell3:5"
    assert at["损失 = x"] == "train.ipynb#cell4:3" and at["y = 2"] == "train.ipynb#cell8:1"
    assert script.cells == 3 and list(script.files) == ["written.py"]


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    left = [(str(one.place), one.what) for one in cell_script(_notebook(tmp_path)).left if not one.error]
    assert left == [
        ("train.ipynb#cell2:1", "%%bash"),
        ("train.ipynb#cell3:2", "!nvidia-smi \\"),
        ("train.ipynb#cell6:1", "%%writefile ../out.py"),
    ]
    broken = [one.place.path for one in cell_script(_notebook(tmp_path)).left if one.error]
    assert broken == ["train.ipynb#cell7"]


def test_files_that_cells_write_are_migrated_with_the_rest(tmp_path: Path) -> None:
    original = prepare_training(_notebook(tmp_path), (), 1)
    assert original.script.name == "train.ipynb.py" and not original.script.exists()
    changed = original.migrate_texts("inject")
    assert b".to('cuda:0')" in changed[tmp_path / "written.py"]
    assert b"transfer_to_npu" in changed[original.script] and b"transfer" not in original.texts[original.script]
    (said,) = original.findings
    assert said.status.json == "Look" and "4 cell(s) or line(s) are left out" in said.message("en")


@pytest.mark.parametrize(
    ("cells", "language", "key"),
    [
        (("%%bash\nls",), "python", "dry_run.no_cells"),
        (("x = 1",), "julia", "MIG100.unreadable"),
        (("return 1", "x = 1\n"), "python", None),
        (("%%writefile a.py\nx = (\n", "import a"), "python", "dry_run.cell_file"),
    ],
)
def test_a_notebook_that_cannot_run_is_one_clear_error(
    tmp_path: Path, cells: tuple[str, ...], language: str, key: str | None
) -> None:
    file = _notebook(tmp_path, cells, language)
    if key is None:
        prepare_training(file, (), 1)
        return
    with pytest.raises(WorkbookError) as error:
        prepare_training(file, (), 1)
    assert error.value.key == key and error.value.message("zh")


def test_future_imports_of_any_cell_stand_at_the_top(tmp_path: Path) -> None:
    later = "# 注\nfrom __future__ import annotations; 数 = 2\nfrom __future__ import (\n  division,\n)\ny = 3"
    script = cell_script(_notebook(tmp_path, ("x = 1", later)))
    namespace: dict[str, object] = {}
    exec(compile(script.text, "cells", "exec"), namespace)
    assert (namespace["x"], namespace["数"], namespace["y"]) == (1, 2, 3) and not script.left
    assert script.text.startswith("from __future__ import annotations, division\n")
    at = {line: str(script.place_of_line(number)) for number, line in enumerate(script.text.splitlines(), 1)}
    assert at["x = 1"] == "train.ipynb#cell2:1" and at["y = 3"] == "train.ipynb#cell3:6"


@pytest.mark.parametrize(
    ("cell", "status"),
    [
        ("%cd data", "Look"),
        ("%env LR=2", "Look"),
        ("%set_env LR 2", "Look"),
        ("%run other.py", "Look"),
        ("%%bash\npython train.py", "Look"),
        ("%%bash\nbash train.sh", "Look"),
        ("!torchrun --nproc_per_node 2 \\\n  train.py", "Look"),
        ("n = !nproc", "Look"),
        ("%%writefile -a a.py\nx = 1", "Look"),
        ("%%python3\nx = 1", "Look"),
        ("!pip install x\n!nvidia-smi", "Good"),
        ("%%bash\npip install x", "Good"),
        ("%env", "Good"),
        ("%%html\n<b>", "Good"),
        ("%timeit", "Good"),
    ],
)
def test_what_changes_the_training_and_is_left_out_is_a_warning(tmp_path: Path, cell: str, status: str) -> None:
    (said,) = prepare_training(_notebook(tmp_path, ("x = 1", cell)), (), 1).findings
    assert said.key == "MIG148.some_cells" and said.status.json == status
