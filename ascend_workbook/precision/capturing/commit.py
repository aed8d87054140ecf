"""The commit that a folder's files are of, where git knows one."""

from __future__ import annotations

from pathlib import Path

from ascend_workbook.machine import bounded

TIMEOUT_S = 10.0
#: Stands behind the commit where tracked files differ from it.
CHANGED = "+changes"


def commit_of(folder: Path) -> str:
    """`3f2a...`, with CHANGED behind it where tracked files differ; empty without git, or outside a repository."""
    head = _run_git(folder, "rev-parse", "HEAD")
    if not head:
        return ""
    return head + (CHANGED if _run_git(folder, "status", "--porcelain", "--untracked-files=no") else "")


def _run_git(folder: Path, *words: str) -> str:
    try:
        done = bounded.run_bounded(["git", "-C", str(folder), *words], timeout_s=TIMEOUT_S)
    except OSError:
        return ""  # no git here: then no commit is told
    return done.stdout.strip() if done.code == 0 else ""
