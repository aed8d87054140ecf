"""Texts that are no Python, judged line by line: launch scripts and lists of requirements."""

from __future__ import annotations

import ast
from pathlib import Path

from helpers.finding import Finding
from helpers.migration.knowledge import dress
from helpers.migration.reading.source import Source
from helpers.migration.texts import requirements, shell

NOTHING = ast.Module([], [])
KNOWN = {rule.CODE: rule.KNOWN for rule in (shell, requirements)}


def text_source(text: str, path: str, encoding: str = "utf-8", bom: bytes = b"", file: Path | None = None) -> Source:
    """A text that is no Python, with its lines and offsets."""
    return Source(path, text, NOTHING, encoding, bom, file)


def scan_lines(source: Source) -> list[Finding]:
    """The findings of a launch script or of a list of requirements, in order of place."""
    rule = shell if shell.is_shell(Path(source.path).name) else requirements
    found = [dress(finding, KNOWN[finding.rule]) for finding in rule.check(source)]
    return sorted(found, key=lambda f: (f.place.line, f.place.column, f.rule) if f.place else (0, 0, f.rule))
