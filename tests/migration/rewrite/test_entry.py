"""Inject mode leaves a tree alone that says npu itself, and a mixed one is decided script by script."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.migration.rewrite import entry, rewrite
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


GUARDED = "try:\n    import torch_npu\nexcept ImportError:\n    torch_npu = None\n"
CUDA = "def f(x):\n    return x.cuda()\n"
BY_NAME = f"import importlib\nimport torch\nimportlib.import_module('pkg.m' + '65').f(torch.ones(2))\n{TAIL}"


def _many(main: str, numbered: dict[int, str]) -> dict[str, str]:
    """A tree where util.py says npu, and the 61 modules of a package say nothing but where it is told."""
    package = {f"m{number}.py": numbered.get(number, "def f(x):\n    return x\n") for number in range(10, 71)}
    return {"main.py": main, "util.py": GUARDED, "other.py": NEUTRAL, **package}


IMPORTS = "".join(f"import m{number}\n" for number in range(10, 71))


@pytest.mark.parametrize(
    ("main", "numbered", "added"),
    [
        (f"import torch\n{IMPORTS}m65.f(torch.ones(2))\n{TAIL}", {65: CUDA}, True),
        (f"import torch\n{IMPORTS}m65.f(torch.ones(2))\n{TAIL}", {12: CUDA}, True),
        (f"import torch\n{IMPORTS}m65.f(torch.ones(2))\n{TAIL}", {}, False),
        (f"{IMPORTS}m65.f(None)\n{TAIL}", {68: f"import torch\n{CUDA}"}, True),
        (BY_NAME, {65: CUDA}, True),
        (BY_NAME, {}, False),
        (f"import torch\nimport m10\n{TAIL}", {65: "import torch\nx = torch.ones(2).npu()\n"}, False),
    ],
)
def test_a_script_whose_modules_are_not_all_known_is_decided_by_the_tree(
    tmp_path: Path, main: str, numbered: dict[int, str], added: bool
) -> None:
    report = rewrite(_tree(tmp_path / "in", _many(main, numbered)), tmp_path / "out")
    assert ("transfer_to_npu" in (tmp_path / "out" / "main.py").read_text(encoding="utf-8")) == added
    assert ("main.py" in report.facts["already_npu"]) == (not added)


@pytest.mark.parametrize(("says", "parsed"), [("x = 1\n", []), ("x = 1  # torch_npu\n", ["model.py"])])
def test_a_module_that_says_nothing_of_torch_npu_is_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, parsed: list[str]
) -> None:
    read: list[str] = []
    monkeypatch.setattr(entry, "_read_words", lambda file: read.append(file.name) or entry.Said(False))
    _tree(tmp_path, {"a.py": GPU.replace("torch\n", "torch\nimport model\n", 1), "model.py": says})
    assert rewrite(tmp_path / "a.py").facts["sha256"] and read == parsed


def test_many_modules_in_a_tree_without_torch_ask_for_nothing(tmp_path: Path) -> None:
    files = {**_many(f"{IMPORTS}m65.f(None)\n{TAIL}", {}), "util.py": "x = 1\n", "other.py": TAIL}
    assert rewrite(_tree(tmp_path, files)).facts["sha256"] == {}


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"a.py": NPU, "c.py": GPU, "plugin.py": CUDA}, "plugin.py:2:12"),
        (
            {"run.py": f"import importlib\nimportlib.import_module('plugin')\n{TAIL}", "c.py": GPU, "plugin.py": CUDA},
            "plugin.py:2:12",
        ),
        ({"a.py": NPU, "c.py": f"import plugin\n{GPU}", "plugin.py": CUDA}, ""),
        ({"a.py": NPU, "c.py": GPU}, ""),
        ({"b.py": NEUTRAL, "c.py": GPU, "plugin.py": CUDA}, ""),
    ],
)
def test_what_no_script_with_the_import_reaches_is_told(tmp_path: Path, files: dict[str, str], told: str) -> None:
    report = rewrite(_tree(tmp_path, files))
    assert [str(one.place) for one in report.findings if one.key == "MIG131.not_reached"] == [told][: bool(told)]
