"""The YAML of a plan as entries with their lines. Only plain values: no tag makes an object, and size is bounded."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import yaml

from ascend_workbook.batch.plan.entry import LONGEST_SHOWN, Entry
from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.sentence import Scalar, Sentence

LARGEST_BYTES, MOST_VALUES, DEEPEST = 4 << 20, 200_000, 12
Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
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
        node = _compose_tree(str(path), data.decode("utf-8-sig"))
    except (yaml.YAMLError, ValueError) as cause:
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
    return Sentence(
        "plan.line",
        line=mark.line + 1,
        column=mark.column + 1,
        error=problem,
        what=Sentence(f"plan.yaml.{problem_key}"),
    )


def _compose_tree(file: str, text: str) -> Any:
    """Compose the root node; depth and number of values are counted before anything is built. Depth and number are
    counted before anything is built: the composer calls itself.
    """
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader)):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST or number > 2 * MOST_VALUES:
            raise _too_large(file, event.start_mark.line + 1)
    return yaml.compose(text, Loader)


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
        self._check_tag(node, place, line)
        if isinstance(node, yaml.MappingNode):
            return Entry(self.file, place, line, self._read_mapping(node, place, depth))
        if isinstance(node, yaml.SequenceNode):
            of = [
                self.make_entry(item_node, f"{place}[{number}]", depth + 1)
                for number, item_node in enumerate(node.value, 1)
            ]
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

    def _check_tag(self, node: Any, place: str, line: int) -> None:
        if node.tag not in PLAIN_TAGS:
            tag = node.tag.replace(TAG, "!!")[:LONGEST_SHOWN]
            raise Entry(self.file, place, line, None).make_error("plan.tag", tag=tag)


def parse_plain(kind: str, text: str) -> Any:
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
