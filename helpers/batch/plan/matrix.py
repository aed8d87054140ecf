"""Every combination of a matrix, and a name for each run that tells it from the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import PurePath
from typing import Any

from helpers.batch.plan.model import Item

PLAIN = re.compile(r"[^\w.=+-]+")


def combinations(axes: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """{"script": [a, b], "steps": [1, 2]} -> four. Nothing of an empty matrix."""
    if axes:
        values = [one if isinstance(one, list) else [one] for one in axes.values()]
        yield from (dict(zip(axes, each)) for each in product(*values))


def named(items: Iterable[Item]) -> Iterator[Item]:
    """Items without a name get one of what they differ by; a second of the same name gets a number."""
    seen: Counter[str] = Counter()
    for item in items:
        name = item.name or "-".join(_words(item)) or "run"
        seen[name] += 1
        yield replace(item, name=name if seen[name] == 1 else f"{name}~{seen[name]}")


def _words(item: Item) -> Iterator[str]:
    for name, value in item.parameters.items():
        word = PurePath(value).stem if name == "script" else value if name == "device" else f"{name}={value}"
        yield PLAIN.sub("_", word)
