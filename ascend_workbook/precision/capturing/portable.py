"""Arguments of a script as they read on any machine: absolute paths lose the folders they lie in."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: What stands for the folders of a path.
FOLDERS = "..."
#: An absolute path, a home or a Windows one, alone or behind `--option=`.
PATH = re.compile(r"(?P<option>--?[\w-]+=)?(?P<path>(?:~|[A-Za-z]:)?[/\\].*|~)", re.DOTALL)


def make_portable(args: Sequence[object]) -> list[str]:
    """`--data=/home/user/digits` becomes `--data=.../digits`; what is no absolute path stays."""
    return [_shorten_path(str(argument)) for argument in args]


def _shorten_path(text: str) -> str:
    match = PATH.fullmatch(text)
    if not match:
        return text
    name = re.split(r"[/\\]", match["path"].rstrip("/\\"))[-1]
    return f"{match['option'] or ''}{FOLDERS}/{name}"
