"""What an entry script reaches of a folder: the rest is folded, and what is carried to its imports."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.migration import closure
from ascend_workbook.migration.assess import assess
from ascend_workbook.migration.scan import scan

CUDA = "import torch\nx = torch.zeros(1).cuda()\n"
PARALLEL = "import torch\nm = torch.nn.DataParallel(m)  # 并行\n"
BUILDS = "from torch.utils.cpp_extension import load\nkernels = load('k', sources=['k.cpp', 'k.cu'])\n"


def _write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def _places(report: Report) -> set[str]:
    return {str(finding.place) for finding in report.findings if finding.place and finding.args.get("class")}


def test_what_is_not_imported_is_folded(tmp_path: Path) -> None:
    files = {"tools/训练.py": "import pkg.a\n" + CUDA, "pkg/__init__.py": "", "pkg/a.py": CUDA, "pkg/b.py": PARALLEL}
    report = scan(_write(tmp_path, files), entry="tools/训练.py")
    assert _places(report) == {"tools/训练.py:3:5", "pkg/a.py:2:5"}
    assert report.facts["counts"] == {"auto": 2, "rewrite": 0, "manual": 0, "unsupported": 0, "advice": 0}
    assert report.facts["unreached"] == {
        "entry": "tools/训练.py",
        "reached": 3,
        "auto": 0,
        "rewrite": 0,
        "manual": 0,
        "unsupported": 1,
        "advice": 0,
    }
    (folded,) = (finding for finding in report.findings if finding.rule == "MIG320")
    assert (folded.args["count"], folded.args["files"], folded.args["unsupported"]) == (1, 1, 1)
    assert report.status is Status.GOOD or report.status is Status.NOTE
    assert "unreached" not in scan(tmp_path).facts


def test_a_src_layout_and_relative_imports_are_followed(tmp_path: Path) -> None:
    files = {"run.py": "from net.model import M\n", "src/net/__init__.py": "", "src/net/model.py": "from . import op\n"}
    report = scan(
        _write(tmp_path, {**files, "src/net/op.py": CUDA, "src/net/other.py": CUDA}), entry=tmp_path / "run.py"
    )
    assert _places(report) == {"src/net/op.py:2:5"}


def test_texts_count_where_a_person_reads_them_before_the_run(tmp_path: Path) -> None:
    pins = "flash-attn==2.5\n"
    files = {"a/train.py": "x = 1\n", "requirements.txt": pins, "a/requirements.txt": pins, "b/requirements.txt": pins}
    assert _places(scan(_write(tmp_path, files), entry="a/train.py")) == {
        "requirements.txt:1:1",
        "a/requirements.txt:1:1",
    }


def test_what_imports_by_a_made_name_brings_its_folder(tmp_path: Path) -> None:
    opening = "import importlib\ndef get(name):\n    return importlib.import_module('.' + name, __name__)\n"
    files = {"t.py": "import zoo\n", "zoo/__init__.py": opening, "zoo/net.py": CUDA, "far/net.py": CUDA}
    report = scan(_write(tmp_path, files), entry="t.py")
    assert _places(report) == {"zoo/net.py:2:5"}
    (open_finding,) = (finding for finding in report.findings if finding.rule == "MIG321")
    assert (open_finding.args["count"], open_finding.args["first"]) == (1, "zoo/__init__.py:3:12")
    fixed = opening.replace("'.' + name, __name__", "'json'")
    _write(tmp_path, {"zoo/__init__.py": fixed})
    report = scan(tmp_path, entry="t.py")
    assert not _places(report) and all(finding.rule != "MIG321" for finding in report.findings)


@pytest.mark.parametrize(
    "module",
    [
        "def build():\n    " + BUILDS.replace("\n", "\n    "),
        "try:\n    " + BUILDS.replace("\n", "\n    ") + "\nexcept OSError:\n    kernels = None\n",
    ],
)
def test_cuda_code_that_may_be_built_is_told_at_the_entry_once_a_package(tmp_path: Path, module: str) -> None:
    files = {"t.py": "import os\nimport ops.fast\nfrom ops import fast\nimport plain\n", "plain.py": "", "k.cu": ""}
    report = scan(_write(tmp_path, {**files, "ops/__init__.py": "", "ops/fast.py": module}), entry="t.py")
    (carried,) = (finding for finding in report.findings if finding.rule == "MIG322")
    assert (carried.key, str(carried.place), carried.args["name"]) == ("MIG322.calls", "t.py:2:1", "ops")
    assert carried.args["effort_h"] == 0.0, "the kernels are counted where they stand"
    assert carried.args["class"] == "manual"


def test_what_builds_behind_other_modules_is_told_at_the_entry(tmp_path: Path) -> None:
    files = {"t.py": "import 网.model\nimport plain\n", "网/__init__.py": "", "网/model.py": "import ops.fast\n"}
    more = {"plain.py": "", "ops/__init__.py": "", "ops/fast.py": BUILDS}
    report = scan(_write(tmp_path, {**files, **more}), entry="t.py")
    carried = {str(finding.place): finding for finding in report.findings if finding.rule == "MIG322"}
    assert set(carried) == {"t.py:1:1", "网/model.py:1:1"}
    assert {finding.args["class"] for finding in carried.values()} == {"unsupported"}


def test_kernels_that_nothing_reached_builds_are_folded(tmp_path: Path) -> None:
    files = {"t.py": CUDA, "ops/build.py": BUILDS, "ops/k.cu": ""}
    report = scan(_write(tmp_path, files), entry="t.py")
    assert all(finding.key != "MIG100.cuda_sources" for finding in report.findings)
    assert report.facts["unreached"]["unsupported"] == 2  # the build, and the source
    assert any(finding.key == "MIG100.cuda_sources" for finding in scan(tmp_path).findings)


def test_hours_are_those_of_what_is_reached(tmp_path: Path) -> None:
    _write(tmp_path, {"t.py": CUDA, "other.py": PARALLEL})
    whole, reached = assess(tmp_path), assess(tmp_path, entry="t.py")
    assert whole.facts["effort_h"]["unsupported"] > 0 == reached.facts["effort_h"]["unsupported"]
    assert reached.facts["unreached"]["unsupported"] == 1 and reached.facts["unread"] == 0
    assert any(finding.rule == "MIG320" for finding in reached.findings)


@pytest.mark.parametrize("entry", ["没有.py", "notes.txt", "/etc/hostname"])
def test_an_entry_that_is_no_script_of_the_folder_is_refused(tmp_path: Path, entry: str) -> None:
    _write(tmp_path, {"t.py": CUDA, "notes.txt": ""})
    with pytest.raises(WorkbookError) as error:
        scan(tmp_path, entry=entry)
    assert error.value.key == "migration.no_entry" and entry in str(error.value)


def test_every_importer_of_a_module_that_builds_at_its_import_is_told(tmp_path: Path) -> None:
    files = {
        "train.py": "import os\nfrom net import M\nfrom ops import act\n",
        "net.py": "from ops import act\nimport ops.plain\n",
        "guarded.py": "try:\n    from ops.act import f\nexcept ImportError:\n    f = None  # 后备\n",
        "other.py": "import act_of_others\n",
        "ops/__init__.py": "from .act import f\n",
        "ops/act.py": BUILDS,
        "ops/plain.py": "",
    }
    report = scan(_write(tmp_path, files))
    carried = {str(finding.place): finding for finding in report.findings if finding.rule == "MIG322"}
    assert set(carried) == {"net.py:1:1", "net.py:2:1", "ops/__init__.py:1:1", "train.py:3:1"}
    assert {finding.key for finding in carried.values()} == {"MIG322.import"}
    assert carried["net.py:1:1"].args["first"] == "ops/act.py:2:11"
    (tmp_path / "ops" / "act.py").write_text("def build():\n    " + BUILDS.replace("\n", "\n    "), encoding="utf-8")
    assert all(finding.rule != "MIG322" for finding in scan(tmp_path).findings)


def test_what_a_package_imports_is_read_once_however_many_import_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package brings a chain of modules: to follow it from every importer would take the square of the files."""
    chain = {f"ops/m{number}.py": f"from . import m{number + 1}\n" for number in range(9)}
    users = {f"use{number}.py": "import ops.plain  # 用\n" for number in range(9)}
    package = {"ops/__init__.py": "from . import m0\nfrom .act import f\n", "ops/act.py": BUILDS, "ops/plain.py": ""}
    root = _write(tmp_path, {**chain, **users, **package})
    read: list[str] = []
    parse = closure._parse_file

    def note(file: Path) -> ast.Module:
        read.append(file.name)
        return parse(file)

    monkeypatch.setattr(closure, "_parse_file", note)
    report = scan(root)
    carried = [finding.place.path for finding in report.findings if finding.rule == "MIG322" and finding.place]
    assert sorted(carried) == ["ops/__init__.py", *sorted(users)]
    assert read == ["__init__.py"]


LINKED = "import importlib, sys\nimport kern\nimportlib.import_module(sys.argv[1])\nimport {name}  # 长\n"


def test_a_linked_file_that_leads_out_of_the_folder_is_told_by_its_name_there(tmp_path: Path) -> None:
    _write(tmp_path, {"elsewhere/dyn.py": LINKED.format(name="a" * 300)})
    root = _write(tmp_path / "root", {"t.py": "import dyn\n", "kern.py": BUILDS})
    (root / "dyn.py").symlink_to("../elsewhere/dyn.py")
    (root / "kern_loop.py").symlink_to("kern_loop.py")
    found = scan(root)
    assert {str(finding.place) for finding in found.findings if finding.rule == "MIG322"} == {"dyn.py:2:1"}
    assert "kern_loop.py" in {str(finding.args.get("path")) for finding in found.findings}, "said, not passed over"
    reached = scan(root, entry="t.py")
    assert {str(finding.place) for finding in reached.findings if finding.rule == "MIG321"} == {"dyn.py:3:1"}


def test_a_link_that_leads_in_a_circle_beside_a_made_import_is_passed_over(tmp_path: Path) -> None:
    _write(tmp_path, {"t.py": "import pkg.load\n", "pkg/__init__.py": "", "pkg/load.py": LINKED.format(name="os")})
    (tmp_path / "pkg" / "loop.py").symlink_to("loop.py")
    report = scan(tmp_path, entry="t.py")
    assert {str(finding.place) for finding in report.findings if finding.rule == "MIG321"} == {"pkg/load.py:3:1"}
