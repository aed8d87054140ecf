"""Launch scripts, lists of requirements and notebooks: their rules' own examples, and places in cells."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from helpers.finding import Status
from helpers.migration.repair import class_of
from helpers.migration.rewrite import apply, rewrite
from helpers.migration.scan import scan
from helpers.migration.texts import requirements, shell, text_source
from helpers.words import say

MODULES = (shell, requirements)


@pytest.mark.parametrize(
    ("rule", "text", "kind", "after"), [(rule, *example) for rule in MODULES for example in rule.EXAMPLES]
)
def test_the_example_fires(rule: ModuleType, text: str, kind: str, after: str | None) -> None:
    source = text_source(text, "run.sh")
    found = list(rule.check(source))
    assert kind in {class_of(finding) for finding in found}
    for finding in found:
        assert finding.rule == rule.CODE and finding.place and finding.place.column >= 1
        assert say(finding.key, "en", **finding.args) and say(finding.key, "zh", **finding.args)
    edits = [edit for finding in found for edit in finding.edits]
    assert (apply(source, edits) if edits else None) == after
    if after is not None:
        again = list(rule.check(text_source(after, "run.sh")))
        assert "rewrite" not in {class_of(finding) for finding in again}


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule in MODULES for text in rule.NEAR_MISSES])
def test_the_near_miss_is_left_alone(rule: ModuleType, text: str) -> None:
    assert list(rule.check(text_source(text, "run.sh"))) == []


def _notebook(path: Path, *cells: str) -> Path:
    content = {"cells": [{"cell_type": "code", "source": cell.splitlines(True)} for cell in cells]}
    content["cells"].insert(1, {"cell_type": "markdown", "source": ["x.cuda('cuda:0')"]})
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path


def test_names_run_on_from_cell_to_cell_and_places_name_cell_and_line(tmp_path: Path) -> None:
    cells = (
        "# 导入\nimport torch as t\n",
        "%matplotlib inline\nfor i in x:\n    !nvidia-smi\n值 = t.cuda.nvtx.mark('x')\n",
    )
    report = scan(_notebook(tmp_path / "训练.ipynb", *cells))
    found = {(str(finding.place), finding.rule) for finding in report.findings if class_of(finding)}
    assert found == {("训练.ipynb#cell3:3:6", "MIG127"), ("训练.ipynb#cell3:4:5", "MIG101")}
    assert all(not finding.edits for finding in report.findings)


def test_a_broken_cell_is_told_and_the_others_are_judged(tmp_path: Path) -> None:
    report = scan(_notebook(tmp_path / "n.ipynb", "import torch\nx = (\n", "import torch\nx = x.cuda()\n"))
    assert [str(f.place) for f in report.findings if f.status is Status.SKIPPED and f.place] == ["n.ipynb#cell1:2"]
    assert [str(f.place) for f in report.findings if class_of(f)] == ["n.ipynb#cell3:2:5"]


@pytest.mark.parametrize("text", ["", "[]", '{"cells": 3}', "{", '{"a": 1}'])
def test_what_is_no_notebook_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "n.ipynb").write_text(text)
    report = scan(tmp_path)
    assert [finding.key for finding in report.findings if finding.place] == ["MIG100.unreadable"]


def test_shell_magics_and_cells_are_commands(tmp_path: Path) -> None:
    report = scan(
        _notebook(tmp_path / "n.ipynb", "%%bash\nexport CUDA_VISIBLE_DEVICES=0\n", "!pip list\n%env NCCL_DEBUG=INFO\n")
    )
    assert {str(f.place): class_of(f) for f in report.findings if class_of(f)} == {
        "n.ipynb#cell1:2:8": "rewrite",
        "n.ipynb#cell3:2:6": "manual",
    }


def test_scripts_are_rewritten_and_keep_their_other_bytes(tmp_path: Path) -> None:
    script = "#!/bin/bash\r\n# 说明 nccl\r\nCUDA_VISIBLE_DEVICES=0 torchrun t.py --backend nccl\r\n"
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "run.sh").write_bytes(script.encode())
    (tmp_path / "a" / "t.py").write_text("print('显卡')\n", encoding="utf-8")
    report = rewrite(tmp_path / "a", tmp_path / "b")
    after = (tmp_path / "b" / "run.sh").read_bytes().decode()
    assert after == script.replace("CUDA_V", "ASCEND_RT_V").replace("--backend nccl", "--backend hccl")
    assert [row[0] for row in report.table.rows] == ["run.sh", "run.sh"] if report.table else False
    assert scan(tmp_path / "b").facts["counts"]["rewrite"] == 0
    assert rewrite(tmp_path / "b").facts["sha256"] == {}, "a second rewrite changes nothing"


def test_setup_py_is_python_and_a_list_of_requirements(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(
        "from torch.utils.cpp_extension import CUDAExtension\ne = CUDAExtension('核', ['a.cu'])\n"
        "setup(install_requires=['flash-attn'])\n",
        encoding="utf-8",
    )
    report = scan(tmp_path)
    assert {finding.rule for finding in report.findings if class_of(finding)} == {"MIG114", "MIG128"}
