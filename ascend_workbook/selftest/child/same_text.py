"""A launch plugin: gpt_text.py reads the standard library's source; here it reads a text that is the same everywhere.

Committed losses hold for one text only, and the standard library differs with Python's version.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_workbook.machine.launch.child.observer import Observer

WORDS = ("self", "return", "import", "value", "index", "if not found:", "for name in names:", "    ", "\n", "=", "(x)")
BYTES = 400_000


def attach(observer: Observer, config: dict[str, object]) -> None:
    folder = observer.out / "text"
    folder.mkdir(exist_ok=True)
    (folder / "text.py").write_bytes(make_text())
    original: Callable[..., object] = sysconfig.get_path

    def get_path(name: str, *rest: object, **more: object) -> object:
        return str(folder) if name == "stdlib" else original(name, *rest, **more)

    vars(sysconfig)["get_path"] = get_path


def make_text() -> bytes:
    """Words drawn by a linear congruential generator (constants of Numerical Recipes)."""
    state, out, length = 1, [], 0
    while length < BYTES:
        state = (1664525 * state + 1013904223) % 2**32
        out.append(WORDS[(state >> 16) % len(WORDS)])
        length += len(out[-1]) + 1
    return " ".join(out).encode()[:BYTES]
