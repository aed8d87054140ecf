"""What a failed run says of its cause: the message, the user's own places on the way to it, and the files around."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from pathlib import Path

from ascend_workbook.findings.finding import Place
from ascend_workbook.machine.launch import ChildError, LaunchResult
from ascend_workbook.migration.reading.source import Source, decode_bytes, parse_text
from ascend_workbook.migration.reading.undecoded import Unreadable

FRAME = re.compile(r'^ *File "(?P<path>[^"]+)", line (?P<line>\d+)', re.MULTILINE)
#: The line below a traceback.
RAISED = re.compile(r"(?P<kind>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
#: What differs from run to run in the same message.
VARIES = re.compile(r"0x[0-9a-f]+|\d+")


@dataclass(frozen=True)
class Spot:
    """A line of a file of the result."""

    name: str
    line: int


@dataclass
class Failure:
    """`spots` are lines of the user's files that the error went through, the innermost last; `contents` all files that
    may be mended, by name; `neutral`: the side that failed is the baseline, so a cure must hold on every device."""

    kind: str
    message: str
    trace: str
    spots: tuple[Spot, ...]
    contents: Mapping[str, bytes]
    place: Place | None = None
    code: str = ""
    neutral: bool = False
    _sources: dict[str, Source | None] = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        """Return the message with its traceback, without the paths in it."""
        return f"{self.kind}: {self.message}\n" + FRAME.sub("", self.trace)

    @property
    def signature(self) -> str:
        """Return what makes it the same cause when it comes back."""
        at = f"{self.spots[-1].name}: {self.code}" if self.spots else ""
        return f"{self.kind}|{VARIES.sub('#', self.message)[:300]}|{at}"

    def read(self, name: str) -> Source | None:
        """Read a Python file of the result; None where it is none, or cannot be parsed."""
        if name not in self._sources:
            self._sources[name] = _parse(name, self.contents.get(name))
        return self._sources[name]

    def walk_sources(self, *words: str) -> Iterator[Source]:
        """Yield the Python files that have one of these words, those that the error went through first."""
        near = [spot.name for spot in reversed(self.spots)]
        sought = [word.encode() for word in words]
        for name in dict.fromkeys((*near, *self.contents)):
            if name.endswith((".py", ".pyw")) and any(word in self.contents.get(name, b"") for word in sought):
                source = self.read(name)
                if source is not None:
                    yield source

    def find_nodes(self, *kinds: type[ast.AST]) -> Iterator[tuple[Source, ast.AST]]:
        """Yield the nodes of these kinds that stand on the lines the error went through, the innermost line first."""
        for spot in reversed(self.spots):
            source = self.read(spot.name)
            nodes = [node for kind in kinds for node in source.nodes_of_type(kind)] if source else []
            for node in sorted(nodes, key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))):
                first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0) or 0
                if source is not None and first <= spot.line <= last:
                    yield source, node


def _parse(name: str, data: bytes | None) -> Source | None:
    if data is None or not name.endswith((".py", ".pyw")):
        return None
    try:
        text, encoding, bom = decode_bytes(data)
        return parse_text(text, name, encoding=encoding, bom=bom)
    except Unreadable:
        return None


def find_error(result: LaunchResult) -> ChildError | None:
    """Return a run's error; of one that caught its own and ended without a step the last traceback of its output."""
    if result.error is not None or result.outcome == "timeout" or not result.output_path.is_file():
        return result.error
    text = result.output_path.read_text(encoding="utf-8", errors="replace")
    lines = text.rpartition("Traceback (most recent call last)")[2].splitlines()[1:]
    traceback = list(takewhile(lambda line: line.startswith(" "), lines))
    match = RAISED.match(lines[len(traceback)]) if traceback and len(lines) > len(traceback) else None
    frames = [(frame["path"], int(frame["line"])) for frame in FRAME.finditer("\n".join(traceback))]
    if match is None or not frames:
        return None
    return ChildError(match["kind"].rpartition(".")[2], match["message"] or "", *frames[-1], tuple(traceback))


def list_spots(error: ChildError | None, work: Path, root: Path, top: Path) -> tuple[Spot, ...]:
    """List the lines of the repository at `top` in an error's traceback; `work` mirrors its folder `root`."""
    if error is None:
        return ()
    frames = [(match["path"], int(match["line"])) for match in FRAME.finditer("\n".join(error.traceback))]
    if error.path and (error.path, error.line) not in frames:
        frames.append((error.path, error.line or 0))
    spots = []
    for path, line in frames:
        for base in (work, root.resolve()):
            if Path(path).is_relative_to(base):
                there = root / Path(path).relative_to(base)
                if there.is_relative_to(top):
                    spots.append(Spot(there.relative_to(top).as_posix(), line))
                break
    return tuple(spots)
