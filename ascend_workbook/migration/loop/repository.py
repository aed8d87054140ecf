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
from ascend_workbook.migration.dry_run.mirror import LARGEST_COPY_BYTES
from ascend_workbook.migration.loop.copying import Files, copy_files
from ascend_workbook.migration.loop.git import read_git, run_git
from ascend_workbook.redaction.exits import redact
from ascend_workbook.storage import write_file
from ascend_workbook.storage.names import is_private

#: Below .git of the result: what was done, and the runs' logs.
OURS = "ascend-workbook"
ORIGINAL = "original"
#: The commit that the baseline's side runs: the original with the cures that hold on every device.
BASELINE = "baseline"
#: What an interrupted call, or a person after it, had left in the result: undone-1, undone-2 and so on.
UNDONE = "undone"
#: Every byte is kept as it is, whatever .gitattributes asks for.
EXACT = "* -text !eol -ident -filter !working-tree-encoding\n"
#: What running the result leaves in it.
NOT_OURS = "__pycache__/\n*.pyc\n"
#: How the user's repository turns files into what git keeps: as there, so in a branch, or each line would differ.
CONVERSIONS = r"^(core\.(autocrlf|eol|filemode|symlinks|ignorecase|precomposeunicode|attributesfile)|filter\..*)$"


def _join(names: Iterable[str]) -> bytes:
    return b"\0".join(map(os.fsencode, names))


def _split(output: str) -> list[str]:
    return [name for name in output.split("\0") if name]


def _encode_message(message: str) -> bytes:
    return redact(message).replace("\0", "").encode("utf-8", "replace")


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
        """Commit files as they are now, or (None) all that somebody has edited; "" where nothing differs.

        What `list_uncommitted` names stays as it is, and is no part of a commit."""
        from_input = ("--pathspec-from-file=-", "--pathspec-file-nul")
        if names is None:
            run_git(self.folder, "add", "-u")
            words = ("diff", "--cached", "--name-only", "--no-renames", "--diff-filter=A", "-z")
            staged = [name for name in _split(run_git(self.folder, *words)) if self._is_kept_out(name)]
            if staged:
                run_git(self.folder, "reset", "-q", *from_input, data=_join(staged))
            names = [name for name in self._list_untracked() if not self._is_kept_out(name)]
        if names:
            run_git(self.folder, "add", "-f", *from_input, data=_join(names))
        if not run_git(self.folder, "diff", "--cached", "--name-only", "-z"):
            return ""
        run_git(self.folder, "commit", "-q", "-F", "-", data=_encode_message(message))
        return self.head

    def list_uncommitted(self) -> list[str]:
        """List what somebody has put into the result and no commit takes: names of credentials, and large files."""
        return [name for name in self._list_untracked() if self._is_kept_out(name)]

    def _list_untracked(self) -> list[str]:
        return _split(run_git(self.folder, "ls-files", "-z", "--others", "--exclude-standard"))

    def _is_kept_out(self, name: str) -> bool:
        path = self.folder / name
        return is_private(name) or (path.is_file() and path.lstat().st_size > LARGEST_COPY_BYTES)

    def go_back(self, commit: str) -> str:
        """Take back what stands in the result since a commit; return the tag that keeps it, "" where there is nothing.

        Nobody can tell what an interrupted call had written from what a person has edited since: all of it is kept,
        each time under a tag of its own."""
        if self.head == commit and not self.is_dirty:
            return ""
        self.commit_files(None, UNDONE)
        number = max((int(name.rpartition("-")[2]) for name in self.list_undone()), default=0) + 1
        tag = f"{UNDONE}-{number}"
        run_git(self.folder, "tag", tag, "HEAD")
        run_git(self.folder, "reset", "-q", "--hard", commit)
        return tag

    def list_undone(self) -> list[str]:
        """List the tags that `go_back` has made."""
        names = run_git(self.folder, "tag", "-l", f"{UNDONE}-*").split()
        return [name for name in names if name.rpartition("-")[2].isdecimal()]

    def find_commit(self, name: str) -> str:
        """Return the commit of a name; "" where there is none."""
        return run_git(self.folder, "rev-parse", "-q", "--verify", f"{name}^{{commit}}", check=False).strip()

    def publish_branch(self) -> None:
        """Hand the commits to the user's repository as its branch; nothing else of it changes."""
        if self.user is None:
            return
        head, tip = self.head, self._find_tip()
        if tip == head:
            return
        self.check_branch()
        run_git(self.user, "fetch-pack", "-q", "--update-shallow", str(self.folder.absolute()), "HEAD")
        run_git(self.user, "update-ref", f"refs/heads/{self.branch}", head, tip or "0" * len(head))

    def _find_tip(self) -> str:
        if self.user is None:
            return ""
        return run_git(self.user, "rev-parse", "--verify", "-q", f"refs/heads/{self.branch}", check=False).strip()

    def check_branch(self) -> None:
        """Refuse a branch that is checked out, or holds what is none of ours: neither may be written over."""
        if self.user is None:
            return
        place = ""
        for line in run_git(self.user, "worktree", "list", "--porcelain").splitlines():
            word, _, value = line.partition(" ")
            place = value if word == "worktree" else place
            if (word, value) == ("branch", f"refs/heads/{self.branch}") and Path(place).exists():
                raise WorkbookError("loop.branch_checked_out", branch=self.branch, path=place)
        tip = self._find_tip()
        if tip and run_git(self.folder, "merge-base", tip, "HEAD", check=False).strip() != tip:
            raise WorkbookError("loop.branch_moved", branch=self.branch, path=str(self.user), commit=tip[:10])

    def free_index(self, *, ours: bool) -> None:
        """Take away the lock of a git that was killed; where it may be another's (not `ours`), refuse to go on."""
        lock = self.folder / ".git" / "index.lock"
        if ours:
            lock.unlink(missing_ok=True)
        elif lock.exists():
            raise WorkbookError("loop.locked", path=str(lock))

    def read_file(self, commit: str, name: str) -> bytes | None:
        """Read a file as a commit has it; None where it is none of it, or a link."""
        entry = run_git(self.folder, "ls-tree", "-z", commit, "--", name, check=False)
        if not entry.startswith("100"):
            return None
        blob = entry.partition("\t")[0].split()[2]
        return read_git(self.folder, "cat-file", "blob", blob)

    def has_entry(self, commit: str, name: str) -> bool:
        """Return whether a commit has a name: a file, a link or a submodule."""
        return bool(run_git(self.folder, "ls-tree", "-z", commit, "--", name))

    def list_changed(self, since: str = ORIGINAL, until: str = "") -> list[str]:
        """List the files that differ from a commit, now or in another commit; of one that was moved both names."""
        words = ("diff", "--name-only", "--no-renames", "-z", since, *([until] if until else []))
        return _split(run_git(self.folder, *words))

    def show_diff(self, commit: str = "") -> str:
        """Return the diff of a commit, or of all since the original, as `git apply` takes it; "" of a first commit."""
        if commit and not self.find_commit(f"{commit}~"):
            return ""
        words = ("diff", "--no-color", "--no-ext-diff", "--binary")
        return run_git(self.folder, *words, *((f"{commit}~", commit) if commit else (ORIGINAL, "HEAD")))

    @property
    def is_dirty(self) -> bool:
        """Return whether somebody has edited the result since the last commit, in what a commit would take."""
        if run_git(self.folder, "status", "--porcelain", "-z", "--untracked-files=no"):
            return True
        return any(not self._is_kept_out(name) for name in self._list_untracked())


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
        run_git(aside, "init", "-q")
        (aside / ".git" / "info").mkdir(exist_ok=True)
        (aside / ".git" / "info" / "exclude").write_text(NOT_OURS, encoding="utf-8")
        if branch and user is not None:
            run_git(aside, "fetch", "-q", "--no-tags", "--update-shallow", str(user), "HEAD")
            run_git(aside, "update-ref", "HEAD", "FETCH_HEAD")
            run_git(aside, "read-tree", "HEAD")
            _take_conversions(user, aside)
        else:
            (aside / ".git" / "info" / "attributes").write_text(EXACT, encoding="utf-8")
        copy_files(files, aside)
        result = Result(aside)
        result.own_folder.mkdir()
        run_git(aside, "add", "-A", *(() if branch else ("-f",)))
        if not branch or run_git(aside, "status", "--porcelain", "-z", "--untracked-files=no"):
            run_git(aside, "commit", "-q", "--allow-empty", "-F", "-", data=_encode_message(message))
        run_git(aside, "tag", ORIGINAL)
        run_git(aside, "tag", BASELINE)
        keep(result.own_folder)
        aside.chmod(_find_mode(files, folder, aside.stat().st_gid))
        if folder.exists():
            folder.rmdir()
        aside.rename(folder)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    result = Result(folder, user if branch else None, branch)
    result.publish_branch()
    return result


def _take_conversions(user: Path, aside: Path) -> None:
    """Give the copy what the user's repository alone says of line ends, modes, filters and attributes."""
    for entry in _split(run_git(user, "config", "-z", "--get-regexp", CONVERSIONS, check=False)):
        name, separator, value = entry.partition("\n")
        run_git(aside, "config", "--replace-all", name, value if separator else "true")
    attributes = user / run_git(user, "rev-parse", "--git-path", "info/attributes").rstrip("\n")
    if attributes.is_file():
        shutil.copyfile(attributes, aside / ".git" / "info" / "attributes")


def _find_mode(files: Files, folder: Path, group: int) -> int:
    """Find the mode of the result's folder: nobody may read the copy who could not read all of the original."""
    root = files.root.stat()
    mode = root.st_mode & 0o777 | 0o700
    if root.st_gid != group:  # another group than that which could read the original
        mode &= ~0o070 | (mode & 0o7) << 3
    paths = [files.root / name for name in files.names]
    within = {path.parent for path in paths} | {above for above in files.root.parents if above not in folder.parents}
    for path in (*paths, *within):
        info = path.lstat()
        needed = 0o1 if stat.S_ISDIR(info.st_mode) else 0o4
        for who in (3, 0):
            if not stat.S_ISLNK(info.st_mode) and not info.st_mode & needed << who:
                mode &= ~(0o7 << who)
    return mode


def _refuse_branch(user: Path, branch: str) -> None:
    if not run_git(user, "check-ref-format", "--branch", branch, check=False).strip():
        raise WorkbookError("loop.branch_name", branch=branch)
    if run_git(user, "rev-parse", "--verify", "-q", f"refs/heads/{branch}", check=False).strip():
        raise WorkbookError("loop.branch_taken", branch=branch)
    if not run_git(user, "rev-parse", "--verify", "-q", "HEAD", check=False).strip():
        raise WorkbookError("loop.no_commit", path=str(user))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file at once or not at all; the bits of its mode stay."""
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    write_file(path, data)
    if mode is not None:
        path.chmod(mode)
