"""The API maps: data files that say, name by name, what becomes of a call on an NPU."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).with_name("data")


@cache
def load(name: str) -> dict[str, Any]:
    """A map by file name: `about`, `versions`, `sources` and `names`."""
    content: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return content


def entry(name: str, key: str) -> dict[str, str] | None:
    """What the map says of one name; None where it says nothing."""
    found: dict[str, str] | None = load(name)["names"].get(key)
    return found


def instead(entry: dict[str, str]) -> dict[str, Any]:
    """What to take instead (`use`) and the page that says so, or the sentence that there is none (`link`)."""
    without = {"say": f"migration.without.{entry.get('without', '')}"}
    return {"use": {"say": f"migration.use.{entry['use']}"}, "link": entry.get("link", without)}
