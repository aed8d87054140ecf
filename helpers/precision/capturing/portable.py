"""Arguments of a script as they read on any machine: absolute paths lose the folders they lie in."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: What stands for the folders of a path.
FOLDERS = "..."
#: An absolute path, a home or a Windows one, alone or behind `--option=`.
PATH = re.compile(r"(?P<option>--?[\w-]+=)?(?P<path>(?:~|[A-Za-z]:)?[/\\].*|~)", re.DOTALL)


def portable(args: Sequence[object]) -> list[str]:
    """`--data=/home/user/digits` becomes `--data=.../digits`; what is no absolute path stays."""
    return [_portable(str(each)) for each in args]


def _portable(text: str) -> str:
    found = PATH.fullmatch(text)
    if not found:
        return text
    name = re.split(r"[/\\]", found["path"].rstrip("/\\"))[-1]
    return f"{found['option'] or ''}{FOLDERS}/{name}"
