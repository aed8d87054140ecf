"""The mirror a script runs in: migrated modules and small files as copies, the user's folder untouched."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.migration.closure import walk_imports
from ascend_workbook.migration.dry_run import mirror
from ascend_workbook.migration.dry_run.mirror import make_mirror, migrate_modules

FILES = {
    "train.py": "import torch\nimport net, pkg.deep\nfrom pkg import b\n",
    "net.py": "import torch\ndef f(x):\n    return x.cuda('cuda:0')\n",
    "pkg/__init__.py": "from .a import x\n",
    "pkg/a.py": "from . import c\nfrom .. import net\nx = 1\n",
    "pkg/b.py": "import train\n",
    "pkg/c.py": "",
    "pkg/deep.py": "import json\n",
    "other.py": "import unrelated",
    "json.txt": "x",
    "data/words.txt": "数据",
}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / "user" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "user" / name).write_text(text, encoding="utf-8")
    return tmp_path / "user" / "train.py"


def test_the_closure_is_what_the_script_imports_from_its_folder(script: Path) -> None:
    names = {file.relative_to(script.parent).as_posix() for file in walk_imports(script)}
    assert names == {"train.py", "net.py", "pkg/__init__.py", "pkg/a.py", "pkg/b.py", "pkg/c.py", "pkg/deep.py"}


def test_only_the_script_imports_transfer_to_npu_and_modules_get_their_edits(script: Path) -> None:
    contents, made = migrate_modules(
        {module: module.read_bytes() for module in walk_imports(script)}, script, script.parent
    )
    assert {file.name for file in contents} == {"train.py", "net.py"}
    assert b"transfer_to_npu" in contents[script] and b".to('cuda:0')" in contents[script.parent / "net.py"]
    assert [finding.rule for finding in made] == ["MIG131", "MIG103"]


def test_the_mirror_holds_everything_and_the_original_stays(script: Path, tmp_path: Path) -> None:
    before = {file: file.read_bytes() for file in script.parent.rglob("*") if file.is_file()}
    contents, _ = migrate_modules(
        {module: module.read_bytes() for module in walk_imports(script)}, script, script.parent
    )
    copy, _ = make_mirror(script, tmp_path / "work", contents)
    assert copy.read_bytes() == contents[script] and not copy.is_symlink()
    assert (tmp_path / "work" / "data" / "words.txt").read_text(encoding="utf-8") == "数据"
    for name in ("new.txt", "data/new.txt", "data/words.txt", "other.py", "pkg/a.py"):
        (tmp_path / "work" / name).write_text("x")
    assert {file: file.read_bytes() for file in script.parent.rglob("*") if file.is_file()} == before


def test_what_is_gone_is_not_in_the_mirror(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "ENTRIES_OF_A_FOLDER", 3)  # pkg would be a link
    gone = {script.parent / name for name in ("other.py", "pkg/c.py")}
    make_mirror(script, tmp_path / "work", {}, gone=gone)
    names = {file.relative_to(tmp_path / "work").as_posix() for file in (tmp_path / "work").rglob("*.*")}
    assert names == {*FILES} - {"other.py", "pkg/c.py"} and not (tmp_path / "work" / "pkg").is_symlink()
    assert (script.parent / "pkg" / "c.py").exists()


def test_a_mirror_inside_the_folder_does_not_hold_itself(script: Path) -> None:
    make_mirror(script, script.parent / "runs" / "x" / "work", {})
    assert not (script.parent / "runs" / "x" / "work" / "runs").exists()


def test_a_module_that_cannot_be_read_is_named(script: Path) -> None:
    script.with_name("net.py").write_text("import torch\nx = (\n")
    with pytest.raises(WorkbookError, match=r"net\.py could not be read as Python \(line 2\)"):
        migrate_modules({module: module.read_bytes() for module in walk_imports(script)}, script, script.parent)
