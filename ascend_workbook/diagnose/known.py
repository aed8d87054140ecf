"""The known failures: data/known_errors.json, one pattern and its sources an entry; its words are `known.<id>`.

Which of several entries explains a line: a specific one before those that only name the kind of error (`info`), and
those before follow-ups of another failure (`noise`); of equals the one that stands first in the file.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).with_name("data")
SEVERITIES = ("error", "info", "warning", "noise")
CONFIDENCES = ("reproduced", "documented", "reported")
#: Longer lines are cut: a pattern that needs more than this of one line is not among ours.
LONGEST = 4000


@dataclass(frozen=True)
class Known:
    """One failure. `peer`: what a rank sees of another rank's failure. `broad`: many causes end in it, so that a
    narrower one beside it says more."""

    id: str
    stage: str
    severity: str
    confidence: str
    pattern: re.Pattern[str]
    excerpt: str
    verbatim: bool
    sources: tuple[str, ...]
    peer: bool = False
    broad: bool = False

    @property
    def specific(self) -> bool:
        """Return whether it names a cause, not only a kind of error."""
        return self.severity == "error"

    @property
    def source(self) -> str:
        """Return the first source: the vendor's own where there is one."""
        return self.sources[0]


@cache
def load_known() -> tuple[Known, ...]:
    """Return all known failures, in the order in which they are tried."""
    entries = [
        Known(**{**data, "pattern": re.compile(data["pattern"]), "sources": tuple(data["sources"])})
        for data in read_data("known_errors")["errors"]
    ]
    return tuple(sorted(entries, key=lambda entry: SEVERITIES.index(entry.severity)))


@lru_cache(maxsize=4096)
def find_matches(text: str) -> tuple[Known, ...]:
    """Return the failures whose pattern is in the text (one line, or several), the best explanation first."""
    cut = text[:LONGEST]
    return tuple(entry for entry in load_known() if entry.pattern.search(cut))


@cache
def read_data(name: str) -> dict[str, Any]:
    """Read a data file of this folder."""
    content: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return content
