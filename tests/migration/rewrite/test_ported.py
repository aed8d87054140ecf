"""Inject mode leaves a tree alone that says npu itself, and a mixed one is decided script by script."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.migration.rewrite import rewrite
from tests.conftest import ROOT

TWO = "import torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n"
TAIL = "if __name__ == '__main__':\n    print('训练')\n"
NPU = f"import torch\nimport torch_npu\nx = torch.ones(2, device='npu:0')\n{TAIL}"
GPU = f"import torch\nx = torch.ones(2, device='cuda:0').cuda()\n{TAIL}"
NEUTRAL = f"import torch\nx = torch.ones(2)\n{TAIL}"
DDP = "def f(x):\n    return p.DistributedDataParallel(x)\n"
USES = f"import torch\nimport torch_npu\nimport model\nmodel.f(torch.ones(2).npu())\n{TAIL}"


def _tree(root: Path, files: dict[str, str]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    return root


def test_what_explicit_mode_wrote_is_left_by_inject_mode(tmp_path: Path) -> None:
    rewrite(ROOT / "notebooks" / "scripts", tmp_path / "npu", mode="explicit")
    for path in (tmp_path / "npu", *sorted((tmp_path / "npu").glob("*.py"))):
        again = rewrite(path)
        assert again.facts["sha256"] == {}, again.text("en")
        if path.suffix == ".py" and "import torch_npu" in path.read_text(encoding="utf-8"):
            assert "already say npu" in again.verdict("en") and "已直接使用 npu" in again.verdict("zh")


@pytest.mark.parametrize(
    ("files", "added"),
    [
        ({"a.py": NPU}, []),
        ({"a.py": GPU}, ["a.py"]),
        ({"a.py": NEUTRAL}, ["a.py"]),
        ({"a.py": NPU, "b.py": NEUTRAL}, []),
        ({"a.py": NPU, "b.py": GPU}, ["b.py"]),
        ({"a.py": USES, "model.py": "import torch\ndef f(x):\n    return x.cuda()\n"}, ["a.py"]),
        ({"a.py": USES, "model.py": "import torch\ndef f(x):\n    return x.npu()\n"}, []),
        ({"a.py": USES, "model.py": f"import torch.nn.parallel as p\n{DDP}"}, []),
        ({"a.py": NPU.replace("'npu:0'", "'cuda:0'")}, ["a.py"]),
        ({"a.py": f"import model\nmodel.f()\n{TAIL}", "model.py": NPU.replace(TAIL, "def f():\n    pass\n")}, []),
        ({"a.py": f"import torch  # torch_npu\nx = torch.ones(2).cuda()\n{TAIL}"}, ["a.py"]),
    ],
)
def test_each_script_is_decided_by_what_it_and_its_modules_say(
    tmp_path: Path, files: dict[str, str], added: list[str]
) -> None:
    source = _tree(tmp_path / "in", files)
    report = rewrite(source, tmp_path / "out")
    imports = [name for name in files if "transfer_to_npu" in (tmp_path / "out" / name).read_text(encoding="utf-8")]
    assert imports == added
    assert ("transfer_to_npu was not added" in report.verdict("en")) == bool(report.facts["already_npu"])
    assert not [finding for finding in report.findings if finding.key == "MIG131.no_script"]
    assert rewrite(tmp_path / "out").facts["sha256"] == {}, "a second time changes nothing"
    alone = rewrite(source / "a.py")  # one file is decided as it is in its tree
    assert bool(alone.facts["sha256"]) == ("a.py" in added)


def test_a_mixed_tree_says_which_scripts_got_it(tmp_path: Path) -> None:
    report = rewrite(_tree(tmp_path, {"a.py": NPU, "b.py": NPU, "c.py": USES, "model.py": "x = y.cuda()\n"}))
    assert report.facts["already_npu"] == ["a.py", "b.py"] and report.facts["still_cuda"] == ["c.py"]
    assert "2 script(s) already say npu" in report.verdict("en") and "first c.py: it was added" in report.verdict("en")
    assert report.verdict("zh").count("c.py") == 1
