"""The result: a git repository of its own, its first commit the original, then one commit per cause.

It is made aside and renamed, so that a folder is there whole or not at all. With a branch the history is that of the
user's repository, and each commit is handed to it as a branch: its working tree and its index are never touched.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.migration.loop.copying import Files, copy_files
from ascend_workbook.migration.loop.git import read_git, run_git
from ascend_workbook.redaction.exits import redact

#: Below .git of the result: what was done, and the runs' logs.
OURS = "ascend-workbook"
ORIGINAL = "original"
#: The commit that the baseline's side runs: the original with the cures that hold on every device.
BASELINE = "baseline"
#: What an interrupted call, or a person after it, had left in the result.
UNDONE = "undone"
#: Every byte is kept as it is, whatever .gitattributes asks for.
EXACT = "* -text !eol -ident -filter !working-tree-encoding\n"
#: What running the result leaves in it.
NOT_OURS = "__pycache__/\n*.pyc\n"


def _join(names: Iterable[str]) -> bytes:
    return b"\0".join(map(os.fsencode, names))


@dataclass(frozen=True)
class Result:
    """The folder of the result; `user` and `branch` where its commits go into the user's repository too."""

    folder: Path
    user: Path | None = None
    branch: str = ""

    @property
    def own_folder(self) -> Path:
        """Return where what is ours lies: no part of the copy."""
        return self.folder / ".git" / OURS

    @property
    def head(self) -> str:
        return run_git(self.folder, "rev-parse", "HEAD").strip()

    def commit_changes(self, contents: Mapping[str, bytes], message: str) -> str:
        """Write new contents of files and commit them; return the commit, or "" where nothing changed."""
        for name, data in contents.items():
            write_whole(self.folder / name, data)
        return self.commit_files(contents, message)

    def commit_files(self, names: Iterable[str] | None, message: str) -> str:
        """Commit files as they are now, or (None) all that somebody has edited; "" where nothing differs."""
        if names is None:
            run_git(self.folder, "add", "-A")
        else:
            run_git(self.folder, "add", "-f", "--pathspec-from-file=-", "--pathspec-file-nul", data=_join(names))
        if not run_git(self.folder, "diff", "--cached", "--name-only", "-z"):
            return ""
        run_git(self.folder, "commit", "-q", "-F", "-", data=os.fsencode(redact(message)))
        return self.head

    def go_back(self, commit: str) -> None:
        """Take back what an interrupted call had written or committed and not noted.

        Nobody can tell it from what a person has edited since: all of it is kept as the tag UNDONE."""
        self.commit_files(None, UNDONE)
        run_git(self.folder, "tag", "-f", UNDONE, "HEAD")
        run_git(self.folder, "reset", "-q", "--hard", commit or "HEAD")

    def publish_branch(self) -> None:
        """Hand the commits to the user's repository as its branch; nothing else of it changes."""
        if self.user is not None:
            where = f"HEAD:refs/heads/{self.branch}"
            words = ("fetch", "-q", "--no-write-fetch-head", "--no-tags", "--no-recurse-submodules", "--update-shallow")
            run_git(self.user, *words, str(self.folder), where)

    def read_file(self, commit: str, name: str) -> bytes | None:
        """Read a file as a commit has it; None where it is none of it, or a link."""
        entry = run_git(self.folder, "ls-tree", "-z", commit, "--", name, check=False)
        if not entry.startswith("100"):
            return None
        blob = entry.partition("\t")[0].split()[2]
        return read_git(self.folder, "cat-file", "blob", blob)

    def list_changed(self, since: str = ORIGINAL) -> list[str]:
        """List the files that differ from a commit."""
        return [name for name in run_git(self.folder, "diff", "--name-only", "-z", since).split("\0") if name]

    def show_diff(self, commit: str = "") -> str:
        """Return the diff of a commit, or of all since the original, as `git apply` takes it."""
        words = ("diff", "--no-color", "--no-ext-diff", "--binary")
        return run_git(self.folder, *words, *((f"{commit}~", commit) if commit else (ORIGINAL, "HEAD")))

    @property
    def is_dirty(self) -> bool:
        """Return whether somebody has edited the result since the last commit."""
        return bool(run_git(self.folder, "status", "--porcelain", "-z"))


def make_result(
    files: Files, folder: Path, user: Path | None, branch: str, message: str, keep: Callable[[Path], None]
) -> Result:
    """Make the result with its first commit; `keep` writes into its own folder what a next call asks for.

    Raises WorkbookError where the folder is not new or empty."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise WorkbookError("loop.foreign_out", path=str(folder))
    if branch and user is not None:
        _refuse_branch(user, branch)
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        aside.chmod(0o755)
        run_git(aside, "init", "-q")
        (aside / ".git" / "info").mkdir(exist_ok=True)
        (aside / ".git" / "info" / "exclude").write_text(NOT_OURS, encoding="utf-8")
        if branch and user is not None:
            run_git(aside, "fetch", "-q", "--no-tags", "--update-shallow", str(user), "HEAD")
            run_git(aside, "update-ref", "HEAD", "FETCH_HEAD")
            run_git(aside, "read-tree", "HEAD")
        else:
            (aside / ".git" / "info" / "attributes").write_text(EXACT, encoding="utf-8")
        copy_files(files, aside)
        result = Result(aside)
        result.own_folder.mkdir()
        run_git(aside, "add", "-A", *(() if branch else ("-f",)))
        if not branch or run_git(aside, "status", "--porcelain", "-z", "--untracked-files=no"):
            run_git(aside, "commit", "-q", "--allow-empty", "-F", "-", data=os.fsencode(redact(message)))
        run_git(aside, "tag", ORIGINAL)
        run_git(aside, "tag", BASELINE)
        keep(result.own_folder)
        if folder.exists():
            folder.rmdir()
        aside.rename(folder)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    result = Result(folder, user if branch else None, branch)
    result.publish_branch()
    return result


def _refuse_branch(user: Path, branch: str) -> None:
    if not run_git(user, "check-ref-format", "--branch", branch, check=False).strip():
        raise WorkbookError("loop.branch_name", branch=branch)
    if run_git(user, "rev-parse", "--verify", "-q", f"refs/heads/{branch}", check=False).strip():
        raise WorkbookError("loop.branch_taken", branch=branch)
    if not run_git(user, "rev-parse", "--verify", "-q", "HEAD", check=False).strip():
        raise WorkbookError("loop.no_commit", path=str(user))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file at once or not at all; the bits of its mode stay."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).chmod(mode if mode is not None else 0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
