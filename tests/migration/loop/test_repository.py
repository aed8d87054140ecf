"""The copy is the original byte for byte, the branch leaves the user's repository as it was."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.migration.loop import repository as repositories
from ascend_workbook.migration.loop.copying import list_files
from ascend_workbook.migration.loop.git import find_top
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
    assert result.go_back(tip) == "undone-1" and result.go_back(tip) == ""
    assert result.head == tip and not result.is_dirty
    assert result.read_file("undone-1", "pkg/gbk.py") == b"half"
    assert result.read_file("undone-1", "notes.txt") == b"a person's"
    assert run_git(result.folder, "rev-parse", BASELINE).strip() == tip
    result.commit_changes({"notes.txt": b"another"}, "later")
    assert result.go_back(tip) == "undone-2" and result.list_undone() == ["undone-1", "undone-2"]
    assert result.read_file("undone-1", "notes.txt") == b"a person's"
    assert result.read_file("undone-2", "notes.txt") == b"another"


def test_files_that_are_not_checked_out_are_refused_not_deleted(repository: Path, tmp_path: Path) -> None:
    run_git(repository, "sparse-checkout", "set", "--no-cone", "/*", "!/pkg/")
    assert not (repository / "pkg").exists()
    for branch in ("", "npu"):
        with pytest.raises(WorkbookError) as refused:
            make(repository, tmp_path / "out", branch)
        assert refused.value.key == "loop.sparse" and refused.value.arguments["files"] == 2
    assert not (tmp_path / "out").exists() and "npu" not in run_git(repository, "branch")
    run_git(repository, "sparse-checkout", "disable")
    run_git(repository, "update-index", "--skip-worktree", "train.py")  # there, and only kept out of commits
    assert make(repository, tmp_path / "out").read_file(ORIGINAL, "train.py")


def test_a_repository_that_git_refuses_is_not_taken_for_none(tmp_path: Path) -> None:
    inner = tmp_path / "user" / "pkg"
    inner.mkdir(parents=True)
    (tmp_path / "user" / ".git").mkdir()
    assert find_top(inner) is None  # empty: git looks further up too
    (tmp_path / "user" / ".git").rmdir()
    (tmp_path / "user" / ".git").write_text("gitdir: /nowhere/at/all\n", encoding="utf-8")
    with pytest.raises(WorkbookError) as refused:
        find_top(inner)
    assert refused.value.key == "loop.git_failed" and "/nowhere/at/all" in str(refused.value)
    assert str(inner) in str(refused.value)


@pytest.mark.parametrize(
    ("root", "file", "mode"), [(0o700, 0o644, 0o700), (0o755, 0o600, 0o700), (0o755, 0o644, 0o755)]
)
def test_nobody_reads_the_copy_who_could_not_read_the_original(tmp_path: Path, root: int, file: int, mode: int) -> None:
    user = tmp_path / "user"
    user.mkdir()
    (user / "train.py").write_text("a = 1\n", encoding="utf-8")
    (user / "train.py").chmod(file)
    user.chmod(root)
    result = make_result(list_files(user, repository=False), tmp_path / "out", None, "", "before", keep_nothing)
    assert result.folder.stat().st_mode & 0o777 == mode


def test_credentials_and_large_files_put_into_the_result_are_in_no_commit(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repositories, "LARGEST_COPY_BYTES", 1000)
    result = make(repository, repository / ".git" / "ascend-workbook" / "npu", "npu")
    (result.folder / ".env").write_text("TOKEN=secret\n", encoding="utf-8")
    (result.folder / "id_rsa").write_text("key\n", encoding="utf-8")
    run_git(result.folder, "add", "-f", "id_rsa")
    (result.folder / "weights.bin").write_bytes(b"x" * 2000)
    assert result.commit_files(None, "edited") == "" and not result.is_dirty
    (result.folder / "note.txt").write_text("a person's\n", encoding="utf-8")
    (result.folder / "run.sh").unlink()
    assert result.is_dirty
    commit = result.commit_files(None, "edited")
    assert set(result.list_changed(f"{commit}~")) == {"note.txt", "run.sh"} and not result.is_dirty
    assert result.list_uncommitted() == [".env", "id_rsa", "weights.bin"]
    result.publish_branch()
    published = run_git(repository, "ls-tree", "-r", "--name-only", "npu").split()
    assert "note.txt" in published and not {".env", "id_rsa", "weights.bin"} & set(published)
    result.go_back(ORIGINAL)
    assert (result.folder / ".env").is_file() and (result.folder / "weights.bin").is_file()


def test_a_message_of_any_characters_is_committed(repository: Path, tmp_path: Path) -> None:
    result = make(repository, tmp_path / "out")
    assert result.commit_changes({"train.py": b"a = 1\n"}, "lone \ud800 and \0 nothing")
    assert run_git(result.folder, "log", "-1", "--format=%s").strip() == "lone ? and  nothing"


def test_a_branch_that_is_no_longer_ours_is_left_as_it_is(repository: Path) -> None:
    result = make(repository, repository / ".git" / "ascend-workbook" / "npu", "npu")
    run_git(repository, "add", "-A")
    run_git(repository, "commit", "-q", "-m", "all")
    run_git(repository, "checkout", "-q", "npu")
    result.commit_changes({"train.py": b"a = 1\n"}, "one")
    with pytest.raises(WorkbookError) as refused:
        result.publish_branch()
    assert refused.value.key == "loop.branch_checked_out"
    run_git(repository, "commit", "-q", "--allow-empty", "-m", "mine")
    mine = run_git(repository, "rev-parse", "npu")
    run_git(repository, "checkout", "-q", "main")
    for call in (result.check_branch, result.publish_branch):
        with pytest.raises(WorkbookError) as refused:
            call()
        assert refused.value.key == "loop.branch_moved"
    assert run_git(repository, "rev-parse", "npu") == mine
    run_git(repository, "branch", "-m", "npu", "kept")  # as the hint says
    result.publish_branch()
    assert run_git(repository, "rev-parse", "npu").strip() == result.head
    assert not (repository / ".git" / "FETCH_HEAD").exists()


def test_a_clean_tree_stays_clean_under_the_users_own_settings(tmp_path: Path) -> None:
    root = tmp_path / "user"
    root.mkdir()
    run_git(root, "init", "-q", "-b", "main")
    run_git(root, "config", "core.autocrlf", "true")
    run_git(root, "config", "core.fileMode", "false")
    run_git(root, "config", "filter.upper.clean", "tr a-z A-Z")
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text("*.up filter=upper\n", encoding="utf-8")
    (root / "train.py").write_bytes(b"a = 1\r\nb = 2\r\n")
    (root / "a.up").write_bytes(b"words\r\n")
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "-m", "first")
    (root / "train.py").chmod(0o755)
    assert not run_git(root, "status", "--porcelain")
    result = make(root, root / ".git" / "ascend-workbook" / "npu", "npu")
    assert result.head == run_git(root, "rev-parse", "main").strip()
    result.commit_changes({"train.py": b"a = 1\r\nb = 3\r\n"}, "one line")
    assert run_git(result.folder, "diff", "--numstat", "HEAD~").split() == ["1", "1", "train.py"]


def test_the_lock_of_a_killed_git_is_taken_away_where_it_was_ours(repository: Path, tmp_path: Path) -> None:
    result = make(repository, tmp_path / "out")
    (result.folder / ".git" / "index.lock").touch()
    with pytest.raises(WorkbookError) as refused:
        result.free_index(ours=False)
    assert refused.value.key == "loop.locked" and "index.lock" in str(refused.value)
    result.free_index(ours=True)
    result.free_index(ours=False)
    assert result.commit_changes({"train.py": b"a = 1\n"}, "one")
