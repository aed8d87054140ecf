"""Git as it is installed, asked without its hooks, its prompts and the user's own identity."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError

TIMEOUT_S = 600.0
#: Nothing of the user's repository is run, nothing in it tidied up, and no line end is changed behind our back.
SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.quotePath": "false",
    "core.safecrlf": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "user.name": "ascend-workbook",
    "user.email": "ascend-workbook@localhost",
    "init.defaultBranch": "main",
    "advice.detachedHead": "false",
}


def run_git(folder: Path, *words: str, data: bytes | None = None, check: bool = True) -> str:
    """Run git in a folder and return what it printed; names that are no UTF-8 come as file names do.

    Raises WorkbookError where git is not there, does not end, or (with `check`) says no."""
    return os.fsdecode(read_git(folder, *words, data=data, check=check))


def read_git(folder: Path, *words: str, data: bytes | None = None, check: bool = True) -> bytes:
    """Run git as `run_git` does, and return the bytes that it printed."""
    settings = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C"}
    command = ["git", *settings, "-C", str(folder), *words]
    try:
        done = subprocess.run(
            command, input=data or b"", capture_output=True, env=environment, timeout=TIMEOUT_S, check=False
        )
    except FileNotFoundError as cause:
        raise WorkbookError("loop.no_git") from cause
    except subprocess.TimeoutExpired as cause:
        raise WorkbookError("loop.git_failed", command=words[0], error=f"{TIMEOUT_S:g} s", path=str(folder)) from cause
    if check and done.returncode:
        lines = os.fsdecode(done.stderr).strip().splitlines() or [f"exit code {done.returncode}"]
        raise WorkbookError("loop.git_failed", command=words[0], error=lines[0], path=str(folder))
    return b"" if done.returncode else done.stdout


def find_top(folder: Path) -> Path | None:
    """Find the top folder of the repository around a folder; None where there is none.

    Raises WorkbookError where git refuses one that is there: it is another user's, or damaged."""
    words = ("rev-parse", "--show-toplevel")
    top = run_git(folder, *words, check=False).rstrip("\n")
    if not top and _holds_repository(folder):
        top = run_git(folder, *words).rstrip("\n")
    return Path(top) if top else None


def _holds_repository(folder: Path) -> bool:
    """Return whether a `.git` that is not empty lies around a folder, on its own file system: git looks no further."""
    for here in (folder, *folder.parents):
        try:
            mark = here / ".git"
            if here.stat().st_dev != folder.stat().st_dev:
                return False
            if mark.is_file() or (mark.is_dir() and any(mark.iterdir())):
                return True
        except PermissionError:
            return True
        except OSError:
            return False
    return False
