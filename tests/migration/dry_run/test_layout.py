"""Modules around the script's folder are found by what is imported, and no wider than that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ascend_workbook.machine.device import Device
from ascend_workbook.migration.dry_run.layout import find_layout
from ascend_workbook.migration.dry_run.mirror import make_mirror
from ascend_workbook.migration.dry_run.original import prepare_training
from ascend_workbook.migration.dry_run.sides import Plan, _make_environment

FILES = {
    "repo/setup.cfg": "",
    "repo/tools/train.py": "import torch, json\nfrom mypkg.net import make\nimport options_of_tools\n",
    "repo/tools/options_of_tools.py": "",
    "repo/mypkg/__init__.py": "",
    "repo/mypkg/net.py": "from deep_pkg import init\nfrom . import near\n",
    "repo/mypkg/near.py": "",
    "repo/src/deep_pkg/__init__.py": "",
    "repo/src/deep_pkg/init.py": "",
    "repo/torch/mine.py": "",
    "repo/data/words.txt": "数据",
    "above_pkg/__init__.py": "",
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / "repo"


def _names(paths: tuple[Path, ...], root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in paths}


def test_packages_beside_the_scripts_folder_are_reached(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo)
    found = find_layout(repo / "tools" / "train.py")
    assert found.root == repo and found.cwd == repo and _names(found.paths, repo) == {".", "src"}
    assert _names(tuple(found.reached_modules), repo) == {
        "mypkg/__init__.py",
        "mypkg/net.py",
        "mypkg/near.py",
        "src/deep_pkg/__init__.py",
        "src/deep_pkg/init.py",
    }
    monkeypatch.chdir(repo.parent)
    assert find_layout(repo / "tools" / "train.py").cwd == repo / "tools"


def test_nothing_is_looked_for_above_the_repository(repo: Path) -> None:
    script = repo / "tools" / "train.py"
    script.write_text("import above_pkg\n", encoding="utf-8")
    found = find_layout(script)
    assert found.root == repo / "tools" and not found.paths and found.modules == (script,)


def test_an_installed_module_wins_over_a_folder_of_its_name(repo: Path) -> None:
    script = repo / "tools" / "train.py"
    script.write_text("import torch.mine\n", encoding="utf-8")
    assert find_layout(script).modules == (script,)
    script.write_text("import sys\nsys.path.insert(0, '..')\nimport torch.mine\n", encoding="utf-8")
    assert find_layout(script).root == repo


def test_pythonpath_is_looked_at_first_and_what_no_mirror_holds_is_named(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    other = tmp_path / "elsewhere"
    (other / "mypkg").mkdir(parents=True)
    (other / "mypkg" / "net.py").write_text("", encoding="utf-8")
    found = find_layout(repo / "tools" / "train.py", pythonpath=[other])
    assert other / "mypkg" / "net.py" in found.outside and other not in found.paths
    assert all(module.is_relative_to(found.root) for module in found.modules)
    (other / "net-1.0.dist-info").mkdir()  # pip filled it: libraries
    assert not find_layout(repo / "tools" / "train.py", pythonpath=[other]).outside


def test_the_mirror_has_data_and_files_for_modules(repo: Path, tmp_path: Path) -> None:
    found = find_layout(repo / "tools" / "train.py")
    contents = {module: module.read_bytes() for module in found.modules}
    contents[repo / "tools" / "made.py"] = b"x = 1\n"
    work = tmp_path / "out" / "work"
    script, _ = make_mirror(repo / "tools" / "train.py", work, contents, found.root, (found.cwd, *found.paths))
    assert script == work / "tools" / "train.py" and (work / "tools" / "made.py").read_bytes() == b"x = 1\n"
    assert (work / "data" / "words.txt").read_text(encoding="utf-8") == "数据"
    assert not (work / "mypkg").is_symlink() and not (work / "mypkg" / "net.py").is_symlink()
    assert not (repo / "tools" / "made.py").exists()


@pytest.mark.parametrize("inherited", [None, "/nowhere"])
def test_libraries_that_a_shell_script_puts_on_pythonpath_stay_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inherited: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    if inherited is None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
    else:
        monkeypatch.setenv("PYTHONPATH", inherited)
    for name in ("libs/x-1.dist-info/METADATA", "libs/mylib.py", "own/near.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "t.py").write_text("import mylib, near\n")
    (tmp_path / "run.sh").write_text("export PYTHONPATH=$PWD/libs:own:$PYTHONPATH\npython w/t.py\n")
    original = prepare_training("run.sh", (), 1)
    assert original.libraries == (tmp_path / "libs",) and original.layout.paths == (tmp_path / "own",)
    plan = Plan(original, tmp_path, 1, 0, "python", None)
    environment = _make_environment(Device("cpu", "", 1), plan, tmp_path / "work", migrated=False)
    expected = [str(tmp_path / "work" / "own"), str(tmp_path / "libs")]
    assert environment["PYTHONPATH"].split(os.pathsep)[:2] == expected
    assert environment["PYTHONPATH"].count("/nowhere") == (inherited is not None)


@pytest.mark.parametrize(
    ("text", "args", "in_root"),
    [
        ("open('./data/words.txt')", [], True),
        ("open('data/none.txt')", [], False),
        ("print('setup.cfg')", [], False),
        ("", ["--data", "mypkg"], True),
        ("", ["--data=data/words.txt"], True),
        ("open('data/near.txt')", [], False),
        ("open('/data/words.txt')", ["/data"], False),
    ],
)
def test_a_script_runs_where_the_files_are_that_it_names(
    repo: Path, monkeypatch: pytest.MonkeyPatch, text: str, args: list[str], in_root: bool
) -> None:
    (repo / "src" / "data").mkdir()
    (repo / "src" / "data" / "near.txt").write_text("")
    (repo / "data" / "near.txt").write_text("")
    script = repo / "src" / "train.py"
    script.write_text(f"{text}\n")
    monkeypatch.chdir(repo)
    layout = prepare_training("src/train.py", args, 1).layout
    assert layout.cwd == (repo if in_root else script.parent)
    assert layout.root == layout.cwd
    monkeypatch.chdir(repo.parent)
    assert prepare_training(script, args, 1).layout.cwd == script.parent
