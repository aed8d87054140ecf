"""The YAML of a plan as entries with their lines, so that every mistake can be named by its line.

Only plain values: no tag makes an object, and size is bounded. Times, sizes, shares and days are read here too.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.sentence import Scalar, Sentence

#: Shown of a wrong value at most; a name longer than this is not searched for its nearest.
LONGEST_SHOWN = 60
#: What is written for a known word that does not look like it.
MEANT = {"gpu": "cuda"}


@dataclass(frozen=True)
class Entry:
    """`value` is None, bool, int, float or str, a list of Entry, or a dict of them; `place` reads `matrix.steps[2]`,
    `line` counts from 1."""

    file: str
    place: str
    line: int
    value: object

    def make_error(self, key: str, **args: Scalar) -> WorkbookError:
        """Make the error `key` with the file, the place and the line filled in."""
        place: Scalar = self.place or Sentence("plan.top")
        return WorkbookError(key, path=self.file, place=place, line=self.line, **args)

    def unknown_word_error(self, name: str, words: Sequence[str]) -> WorkbookError:
        """Make the error for a word that is not among the known ones, with the nearest one where there is any."""
        close = nearest_words(name, words)
        if close:
            return self.make_error("plan.unknown", name=shorten_text(name), close=close, known=list(words))
        return self.make_error("plan.strange", name=shorten_text(name), known=list(words))

    def wrong_kind_error(self, expected: str) -> WorkbookError:
        """Make the error for a value of the wrong kind. `expected` is a key of the catalogue below `plan.want.`."""
        return self.make_error("plan.shape", found=self.display_value, wanted=Sentence(f"plan.want.{expected}"))

    @property
    def display_value(self) -> Scalar:
        """Return the value for a reader: a list and a mapping by what they are."""
        if isinstance(self.value, (list, dict)):
            return Sentence("plan.a_list" if isinstance(self.value, list) else "plan.a_mapping")
        if self.value is None:
            return Sentence("plan.nothing")
        text = shorten_text(format_value(self.value))
        return f'"{text}"' if isinstance(self.value, str) else text

    def read_mapping(self, words: Iterable[str] = ()) -> dict[str, Entry]:
        """Return the mapping; with `words`, refuse a name that is not among them."""
        if not isinstance(self.value, dict):
            raise self.wrong_kind_error("mapping")
        names = sorted(words)
        for name, entry in self.value.items() if names else ():
            if name not in names:
                raise replace(self, line=entry.line).unknown_word_error(name, names)
        entries: dict[str, Entry] = self.value
        return entries

    def read_items(self) -> list[Entry]:
        """Return the list; one without entries is refused."""
        if not isinstance(self.value, list) or not self.value:
            raise self.wrong_kind_error("list")
        entries: list[Entry] = self.value
        return entries

    def read_texts(self, words: Sequence[str] = ()) -> tuple[str, ...]:
        """Return one text or a list of them, none twice."""
        entries = self.read_items() if isinstance(self.value, list) else [self]
        texts = [entry.read_choice(words) if words else entry.read_text() for entry in entries]
        for number, entry in enumerate(entries):
            if texts[number] in texts[:number]:
                raise entry.make_error("plan.again", name=texts[number])
        return tuple(texts)

    def read_text(self) -> str:
        """Return a text that is not empty."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.wrong_kind_error("text")
        return self.value

    def read_choice(self, words: Sequence[str]) -> str:
        """Return one of the known words."""
        word = self.read_text()
        if word not in words:
            raise self.unknown_word_error(word, words)
        return word

    def read_number(self, least: int, most: int) -> int:
        """Return a whole number within bounds. true and false are none."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or not least <= self.value <= most:
            expected: Scalar = Sentence("plan.want.number", least=least, most=most)
            raise self.make_error("plan.shape", found=self.display_value, wanted=expected)
        return self.value


def format_value(value: object) -> str:
    """Format a plain value as a plan writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def shorten_text(text: str) -> str:
    """Shorten a text for a message: on one line, without marks that hide or turn it."""
    characters = text[: LONGEST_SHOWN + 1]
    text = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in characters)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def nearest_or_all(name: str, words: Sequence[str]) -> list[str]:
    """Return the nearest known word, or all of them where none is near."""
    return nearest_words(name, words) or list(words)


def nearest_words(name: str, words: Sequence[str]) -> list[str]:
    """Return the nearest known word, where one is near."""
    intended = MEANT.get(name.lower(), "")
    return [intended] if intended in words else difflib.get_close_matches(name[:LONGEST_SHOWN], words, 1, 0.5)


SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
#: Decimal and binary units in MiB; a number without a unit is refused, as nobody knows what it would mean.
MIB = {"MB": 1e6 / 2**20, "MIB": 1, "GB": 1e9 / 2**20, "GIB": 1024, "TB": 1e12 / 2**20, "TIB": 2**20}
AMOUNT = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([A-Za-z]*)", re.ASCII)
LONGEST_S, LARGEST_MIB = 30 * 86400, 2**30


def read_seconds(entry: Entry) -> int:
    """Read a time such as `30m`, `2h`, `90s` or a number of seconds; at least one, at most 30 days."""
    amount, unit = _read_amount(entry)
    if unit not in SECONDS or not 1 <= amount * SECONDS[unit] <= LONGEST_S:
        raise entry.wrong_kind_error("time")
    return round(amount * SECONDS[unit])


def read_mib(entry: Entry) -> int:
    """Read a size such as `4GB` or `512MiB` in MiB, at least one."""
    amount, unit = _read_amount(entry)
    if unit.upper() not in MIB or not 1 <= amount * MIB[unit.upper()] <= LARGEST_MIB:
        raise entry.wrong_kind_error("size")
    return round(amount * MIB[unit.upper()])


def read_share(entry: Entry) -> tuple[float, bool]:
    """Read a share: (0.01, False) of 0.01, (0.01, True) of `1%`. Never negative."""
    text = entry.value.strip() if isinstance(entry.value, str) else ""
    percent = text.endswith("%")
    if percent and AMOUNT.fullmatch(text[:-1].strip()) and text[:-1].strip()[-1].isdigit():
        return float(text[:-1]) / 100, True
    if isinstance(entry.value, bool) or not isinstance(entry.value, (int, float)) or entry.value < 0:
        raise entry.wrong_kind_error("share")
    return float(entry.value), False


def read_day(entry: Entry) -> str:
    """Read a day YYYY-MM-DD that the calendar has."""
    text = entry.read_text()
    with suppress(ValueError):
        if len(text) == 10:
            return date.fromisoformat(text).isoformat()
    raise entry.wrong_kind_error("day")


def _read_amount(entry: Entry) -> tuple[float, str]:
    plain = not isinstance(entry.value, (bool, list, dict))
    match = AMOUNT.fullmatch(str(entry.value).strip()) if plain else None
    return (float(match[1]), match[2]) if match else (0.0, "?")


LARGEST_BYTES, MOST_VALUES, DEEPEST = 4 << 20, 200_000, 12
Loader: object = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
#: What libyaml and PyYAML say of a mistake -> the key of our words for it.
PROBLEMS = {
    "quoted scalar": "quote",
    "flow sequence": "open",
    "flow mapping": "open",
    "mapping values are not": "mapping",
    "cannot start any token": "letter",
    "undefined alias": "alias",
    "expected a single document": "second",
    "another document": "second",
    "block mapping": "indent",
    "block collection": "indent",
    "simple key": "indent",
}
TAG = "tag:yaml.org,2002:"
PLAIN_TAGS = {
    f"{TAG}{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null", "timestamp", "value", "merge")
}
WHOLE = re.compile(r"[-+]?(0|[1-9]\d{0,17})", re.ASCII)
BROKEN = re.compile(r"[-+]?(\d+\.\d*|\.\d+)([eE][-+]?\d{1,3})?", re.ASCII)
#: YAML 1.1 takes 1e-3 for a text, every reader for a number.
POWER = re.compile(r"[-+]?\d+[eE][-+]?\d{1,3}", re.ASCII)


def load_document(path: Path) -> Entry:
    """Load the one document of a YAML file. Raises WorkbookError for what is no YAML, too large, or written twice."""
    try:
        data = path.read_bytes() if path.stat().st_size <= LARGEST_BYTES else None
    except OSError as cause:
        raise WorkbookError("plan.unreadable", path=str(path), error=explain_os_error(cause)) from cause
    if data is None:
        raise WorkbookError("plan.too_large", path=str(path), line=1, limit=f"{LARGEST_BYTES >> 20} MiB")
    try:
        text, depth = data.decode("utf-8-sig"), 0
        for number, event in enumerate(yaml.parse(text, Loader)):  # composing calls itself: counted before
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST or number > 2 * MOST_VALUES:
                raise _too_large(str(path), event.start_mark.line + 1)
        node = yaml.compose(text, Loader)
    except (yaml.YAMLError, ValueError) as cause:
        if "nesting depth" in str(cause):  # libyaml's own bound, which it may meet first: it reads ahead
            raise _too_large(str(path), 1) from cause
        raise WorkbookError("plan.unreadable", path=str(path), error=_describe_yaml_error(cause)) from cause
    if node is None:
        return Entry(str(path), "", 1, None)
    return _Reader(str(path)).make_entry(node, "", 0)


def _describe_yaml_error(cause: Exception) -> Scalar:
    """Describe in our words what is wrong with the YAML, and where. The parser's own words stand behind."""
    if isinstance(cause, UnicodeDecodeError):
        return Sentence("plan.yaml.encoding", at=cause.start + 1)
    problem = str(getattr(cause, "problem", None) or cause).split("\n")[0]
    mark = getattr(cause, "problem_mark", None)
    if mark is None:
        return Sentence("plan.yaml.control", error=problem)
    text = f"{getattr(cause, 'context', '')} {problem}"
    problem_key = next((key for words, key in PROBLEMS.items() if words in text), "other")
    what = Sentence(f"plan.yaml.{problem_key}")
    return Sentence("plan.line", line=mark.line + 1, column=mark.column + 1, error=problem, what=what)


def _too_large(file: str, line: int) -> WorkbookError:
    limit = Sentence("plan.limit", values=MOST_VALUES, deep=DEEPEST)
    return WorkbookError("plan.too_large", path=file, line=line, limit=limit)


class _Reader:
    """Counts what it has made: an alias brings its whole tree again each time it is used."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.made = 0

    def make_entry(self, node: Any, place: str, depth: int) -> Entry:
        self.made += 1
        line = node.start_mark.line + 1
        if self.made > MOST_VALUES or depth > DEEPEST:
            raise _too_large(self.file, line)
        if node.tag not in PLAIN_TAGS:
            tag = node.tag.replace(TAG, "!!")[:LONGEST_SHOWN]
            raise Entry(self.file, place, line, None).make_error("plan.tag", tag=tag)
        if isinstance(node, yaml.MappingNode):
            return Entry(self.file, place, line, self._read_mapping(node, place, depth))
        if isinstance(node, yaml.SequenceNode):
            nodes = enumerate(node.value, 1)
            of = [self.make_entry(item_node, f"{place}[{number}]", depth + 1) for number, item_node in nodes]
            return Entry(self.file, place, line, of)
        value = node.value if node.style else parse_plain(node.tag[len(TAG) :], node.value)
        return Entry(self.file, place, line, value)

    def _read_mapping(self, node: Any, place: str, depth: int) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        for name, value in node.value:
            here = Entry(self.file, place, name.start_mark.line + 1, None)
            if not isinstance(name, yaml.ScalarNode):
                raise here.make_error("plan.key")
            if name.value in entries:
                raise here.make_error("plan.twice", name=name.value[:LONGEST_SHOWN], before=entries[name.value].line)
            inner = self.make_entry(value, f"{place}.{name.value[:LONGEST_SHOWN]}".lstrip("."), depth + 1)
            entries[name.value] = Entry(self.file, inner.place, here.line, inner.value)
        return entries


def parse_plain(kind: str, text: str) -> object:
    """Parse an unquoted text as a plain value. What YAML's versions read differently (010, 1:30, dates) stays text."""
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    if kind == "null":
        return None
    if kind == "int" and WHOLE.fullmatch(text):
        return int(text)
    pattern = BROKEN if kind == "float" else POWER
    leading = re.match(r"[-+]?0\d", text, re.ASCII)
    number = float(text) if pattern.fullmatch(text) and len(text) <= LONGEST_SHOWN and not leading else math.inf
    return number if math.isfinite(number) else text
