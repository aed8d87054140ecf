"""A launch plugin: what IPython gives every notebook, for cells that run as a script: `display`, which prints here.

Runs in the user's process by path and imports nothing of the workbook.
"""

from __future__ import annotations

import builtins


def attach(observer: object, config: dict[str, object]) -> None:
    """Give the script `display` but not `get_ipython`: code that asks for it must see that it runs as a script."""

    def print_shown(*shown: object, **how: object) -> None:
        print(*shown)

    builtins.display = print_shown  # type: ignore[attr-defined]
