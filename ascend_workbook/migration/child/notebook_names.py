"""A launch plugin: what IPython gives every notebook, for cells that run as a script: `display`, which prints here.

Runs in the user's process by path and imports nothing of the workbook.
"""

from __future__ import annotations

import builtins
from typing import Any


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Give the script `display` but not `get_ipython`: code that asks for it must see that it runs as a script."""

    def print_shown(*shown: Any, **how: Any) -> None:
        print(*shown)

    builtins.display = print_shown  # type: ignore[attr-defined]
