"""A launch plugin: what IPython gives every notebook, for cells that run as a script: `display`, which prints here.

Runs in the user's process by path and imports nothing of the workbook.
"""

from __future__ import annotations

import builtins
from typing import Any


def attach(observer: Any, config: dict[str, Any]) -> None:
    """`get_ipython` is not given: code that asks for it must see that it runs as a script."""

    def display(*shown: Any, **how: Any) -> None:
        print(*shown)

    builtins.display = display  # type: ignore[attr-defined]
