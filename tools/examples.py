"""Examples of rules, as files that are read like the code they show: `tests/migration/examples/MIG126.py`.

    # --- case: a card by its number
    import torch; gpu = 1
    m.to(0)
    # ^ MIG126.number auto
    # --- after
    ...what the rewrite makes of it; without this part it makes nothing

    # --- near miss: a device by its name
    m.to("cpu")

A line with a caret says that a finding stands above the caret: its key, and its class (its status where it has none).
Every finding is marked, and what is not marked is silent. The caret stands where a terminal shows the place, so that
a Chinese character is two columns wide; at the first column it takes the comment sign's place.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {"MIG": ROOT / "tests" / "migration" / "examples"}
HEAD = re.compile(r"# --- (?P<kind>case|near miss)(?:: (?P<title>.+))?$", re.MULTILINE)
AFTER = "# --- after"
MARK = re.compile(r"(?P<before>(?:# *)?)\^ (?P<key>\w+\.\w+) (?P<kind>\w+)")


class BadExample(ValueError):
    """A file of examples that cannot be read, and where."""


@dataclass(frozen=True, order=True)
class Mark:
    """A finding: its line and column (from 1), its key, and its class or status."""

    line: int
    column: int
    key: str
    kind: str


@dataclass(frozen=True)
class Case:
    """A piece of source text with what is found in it; `shown` is the text with its marks."""

    title: str
    near_miss: bool
    code: str
    marks: tuple[Mark, ...]
    after: str | None
    shown: str


def read_examples(code: str) -> tuple[Case, ...]:
    """Return the cases of a rule in the order of its file, none where it has no file."""
    folder = FOLDERS.get(code[:3])
    files = sorted(folder.glob(f"{code}.*")) if folder else []
    return tuple(case for file in files for case in parse_examples(file.read_text(encoding="utf-8"), file.name))


def parse_examples(text: str, name: str) -> tuple[Case, ...]:
    """Split a file into its cases. Raises BadExample."""
    heads = list(HEAD.finditer(text))
    if not heads or text[: heads[0].start()].strip():
        raise BadExample(f"{name}: begins with no `# --- case`")
    ends = [head.start() for head in heads[1:]] + [len(text)]
    cases = []
    for number, (head, end) in enumerate(zip(heads, ends), 1):
        title = head.group("title") or f"{head.group('kind')} {number}"
        cases.append(_parse_case(text[head.end() : end], f"{name}, {title}", title, head.group("kind") != "case"))
    return tuple(cases)


def column_shown(line: str, column: int) -> int:
    """Return how many columns of a terminal stand before a column (from 1) of a line."""
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in line[: column - 1])


def _parse_case(text: str, where: str, title: str, near_miss: bool) -> Case:
    shown, has_after, after = text.strip("\n").partition(f"\n{AFTER}\n")
    lines: list[str] = []
    marks: list[Mark] = []
    for line in shown.split("\n"):
        mark = MARK.fullmatch(line)
        if mark:
            marks.append(_place_mark(mark, lines, where))
        else:
            lines.append(line)
    if near_miss == bool(marks):
        raise BadExample(f"{where}: a case has marks, a near miss has none")
    code = "\n".join(lines) + "\n"
    return Case(title, near_miss, code, tuple(marks), after.strip("\n") + "\n" if has_after else None, shown)


def _place_mark(mark: re.Match[str], lines: list[str], where: str) -> Mark:
    """Return the mark with the column of the line above that stands over its caret."""
    above, shown = lines[-1] if lines else "", len(mark.group("before"))
    column = next((number for number in range(1, len(above) + 1) if column_shown(above, number) == shown), 0)
    if not column:
        raise BadExample(f"{where}: nothing stands over the caret of {mark.group('key')}")
    return Mark(len(lines), column, mark.group("key"), mark.group("kind"))
