"""The copy is the original byte for byte, the branch leaves the user's repository as it was."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.migration.loop.copying import list_files
from ascend_workbook.migration.loop.repository import BASELINE, ORIGINAL, Result, make_result
from ascend_workbook.migration.loop.rewriting import commit_rewrite


def run_git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with line ends, encodings, links and bits that a careless copy loses."""
    root = tmp_path / "user"
    (root / "pkg").mkdir(parents=True)
    (root / "train.py").write_bytes(b"import torch\r\nm = torch.nn.Linear(2, 1).cuda()\r\nprint(m)\r\n")
    (root / "pkg" / "gbk.py").write_bytes("# -*- coding: gbk -*-\nimport torch\n# 模型\n".encode("gbk"))
    (root / "pkg" / "apex_use.py").write_text("from torch._six import inf\nimport torch\n", encoding="utf-8")
    (root / "run.sh").write_text("export CUDA_VISIBLE_DEVICES=0\npython train.py\n", encoding="utf-8")
    (root / "run.sh").chmod(0o755)
    (root / "linked.py").symlink_to("train.py")
    (root / "gone").symlink_to("/nowhere/at/all")
    (root / ".gitattributes").write_text("* text=auto eol=lf\n", encoding="utf-8")
    (root / ".gitignore").write_text("data/\n", encoding="utf-8")
    (root / "data").mkdir()
    (root / "data" / "big.bin").write_bytes(b"x")
    (root / "leer zeichen 名.txt").write_bytes(b"\xff\xfe\x00")
    run_git(root, "init", "-q", "-b", "main")
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "-m", "first")
    (root / "uncommitted.py").write_text("a = 1\n", encoding="utf-8")
    (root / ".env").write_text("TOKEN=secret\n", encoding="utf-8")
    return root


def keep_nothing(folder: Path) -> None:
    assert folder.is_dir()


def make(root: Path, folder: Path, branch: str = "") -> Result:
    files = list_files(root, repository=True, without=(folder,), submodules=not branch)
    return make_result(files, folder, root if branch else None, branch, "before", keep_nothing)


def snapshot(root: Path) -> dict[str, tuple[str, bytes, int]]:
    content = {}
    for folder, _, files in os.walk(root):
        for name in files:
            path = Path(folder, name)
            kind = "link" if path.is_symlink() else "file"
            data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            content[str(path.relative_to(root))] = (kind, data, path.lstat().st_mtime_ns)
    return content


def test_the_copy_is_the_original(repository: Path, tmp_path: Path) -> None:
    files = list_files(repository, repository=True)
    assert files.private == [".env"] and "data/big.bin" not in files.names
    result = make(repository, tmp_path / "out")
    names = set(run_git(result.folder, "ls-files", "-z").split("\0")) - {""}
    assert names == set(files.names) and "uncommitted.py" in names and ".env" not in names
    for name in names:
        source, there = repository / name, result.folder / name
        assert there.is_symlink() == source.is_symlink()
        if source.is_symlink():
            assert there.readlink() == source.readlink()
        else:
            assert there.read_bytes() == source.read_bytes()
            assert os.access(there, os.X_OK) == os.access(source, os.X_OK)
            assert result.read_file(ORIGINAL, name) == source.read_bytes()


def test_the_rewrite_changes_lines_with_a_reason_alone(repository: Path, tmp_path: Path) -> None:
    before = snapshot(repository)
    result = make(repository, tmp_path / "out")
    commits, _ = commit_rewrite(result, "inject", ["train.py"])
    assert snapshot(repository) == before
    assert commits and commits[0]["rule"] == "MIG131"
    assert result.list_changed() == sorted({name for commit in commits for name in commit["files"]})
    assert (result.folder / "linked.py").is_symlink()
    after = (result.folder / "train.py").read_bytes()
    assert after.startswith(b"import torch_npu\r\n") and after.endswith((repository / "train.py").read_bytes())
    assert (result.folder / "pkg" / "gbk.py").read_bytes() == (repository / "pkg" / "gbk.py").read_bytes()
    patch = tmp_path / "whole.patch"
    words = ["git", "diff", "--binary", ORIGINAL, "HEAD"]
    patch.write_bytes(subprocess.run(words, cwd=result.folder, check=True, capture_output=True).stdout)
    run_git(repository, "apply", "--check", str(patch))
    subjects = run_git(result.folder, "log", "--format=%s", f"{ORIGINAL}..").splitlines()
    assert len(subjects) == len(commits)


def test_a_branch_leaves_the_working_tree_and_the_index(repository: Path) -> None:
    (repository / "run.sh").write_text("python train.py --changed\n", encoding="utf-8")
    (repository / "staged.py").write_text("b = 2\n", encoding="utf-8")
    run_git(repository, "add", "staged.py")
    before = {name: kept for name, kept in snapshot(repository).items() if not name.startswith(".git/")}
    index, head = (repository / ".git" / "index").read_bytes(), run_git(repository, "rev-parse", "HEAD")
    result = make(repository, repository / ".git" / "ascend-workbook" / "npu", "npu")
    commit_rewrite(result, "inject", ["train.py"])
    result.publish_branch()
    assert {name: kept for name, kept in snapshot(repository).items() if not name.startswith(".git/")} == before
    assert (repository / ".git" / "index").read_bytes() == index
    assert run_git(repository, "rev-parse", "HEAD") == head
    assert run_git(repository, "rev-parse", "npu").strip() == result.head
    assert run_git(repository, "merge-base", "main", "npu") == head  # a branch of its history
    assert "changed" in run_git(repository, "show", f"{result.head}:run.sh")  # what was not committed is in its base
    changed = run_git(repository, "diff", "--name-only", "main", "npu").split()
    assert set(changed) == {"run.sh", "staged.py", "uncommitted.py", *result.list_changed()}


def test_a_shallow_clone_gets_a_branch(repository: Path, tmp_path: Path) -> None:
    run_git(repository, "commit", "-q", "--allow-empty", "-m", "second")
    run_git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    shallow = tmp_path / "shallow"
    result = make(shallow, shallow / ".git" / "ascend-workbook" / "npu", "npu")
    assert run_git(shallow, "rev-parse", "npu").strip() == result.head


def test_a_folder_of_the_users_is_refused_and_stays(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(WorkbookError) as refused:
        make(repository, tmp_path / "out")
    assert refused.value.key == "loop.foreign_out"
    assert (tmp_path / "out" / "mine.txt").read_text(encoding="utf-8") == "mine"
    run_git(repository, "branch", "taken")
    with pytest.raises(WorkbookError) as refused:
        make(repository, repository / ".git" / "ascend-workbook" / "taken", "taken")
    assert refused.value.key == "loop.branch_taken"


def test_what_was_not_noted_is_undone(repository: Path, tmp_path: Path) -> None:
    result = make(repository, tmp_path / "out")
    tip = result.head
    result.commit_changes({"train.py": b"broken"}, "half")
    (result.folder / "pkg" / "gbk.py").write_bytes(b"half")
    (result.folder / "notes.txt").write_bytes(b"a person's")
    result.go_back(tip)
    assert result.head == tip and not result.is_dirty
    assert result.read_file("undone", "pkg/gbk.py") == b"half"
    assert result.read_file("undone", "notes.txt") == b"a person's"
    assert run_git(result.folder, "rev-parse", BASELINE).strip() == tip
