"""What a repository has beside Python files: launch scripts, lists of requirements, notebooks.

shell.py and requirements.py judge lines of text and have CODE, KNOWN, `check(source)`, EXAMPLES and
NEAR_MISSES like a rule file; notebook.py gives a notebook's cells to the Python rules.
"""

from __future__ import annotations

import ast
from pathlib import Path

from helpers.finding import Finding
from helpers.migration.knowledge import dress
from helpers.migration.source import Source, decode
from helpers.migration.texts import notebook, requirements, shell

NOTHING = ast.Module([], [])


def text_source(text: str, path: str, encoding: str = "utf-8", bom: bytes = b"", file: Path | None = None) -> Source:
    """A text that is no Python, with its lines and offsets."""
    return Source(path, text, NOTHING, encoding, bom, file)


def read_text(file: Path, name: str) -> Source:
    """Raises Unreadable or OSError."""
    text, encoding, bom = decode(file.read_bytes())
    return text_source(text, name, encoding, bom, file)


def scan_text(source: Source) -> list[Finding]:
    """The findings of a launch script or of a list of requirements, in order of place."""
    rule = shell if shell.is_shell(Path(source.path).name) else requirements
    return [dress(finding, rule.KNOWN) for finding in rule.check(source)]


def is_text(file: Path) -> bool:
    return shell.is_shell(file.name) or requirements.is_requirements(file.name)


def scan_notebook(file: Path, name: str) -> list[Finding]:
    """Raises Unreadable or OSError."""
    return notebook.scan(file.read_bytes(), name)
