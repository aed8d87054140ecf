"""The API maps: data files that say, name by name, what becomes of a call on an NPU."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from ascend_workbook.findings.sentence import Sentence

DATA = Path(__file__).with_name("data")


@cache
def load_map(name: str) -> dict[str, Any]:
    """Load a map by its file name: `about`, `versions`, `sources` and `names`."""
    content: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return content


def list_names(name: str) -> Any:
    """Return a list or table of names.json."""
    return load_map("names")[name]["names"]


def find_entry(name: str, key: str) -> dict[str, str] | None:
    """Return what the map says of one name, or None where it says nothing."""
    map_entry: dict[str, str] | None = load_map(name)["names"].get(key)
    return map_entry


def describe_alternative(entry: dict[str, str]) -> dict[str, Any]:
    """Return what to take instead (`use`) and the page that says so, or the sentence that there is none (`link`)."""
    link = entry["link"] if "link" in entry else Sentence(f"migration.without.{entry['without']}")
    return {"use": Sentence(f"migration.use.{entry['use']}"), "link": link}
